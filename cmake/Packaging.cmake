# What is installed: the program with its man page and completions, and the library as one archive with the public
# headers, a CMake package and a pkg-config file, the C interface as a shared library. CPack makes a Debian package of each.
include(CMakePackageConfigHelpers)

# thalweg_objects(ROOT OBJECTS OUTSIDE): the objects of a layer and all that it links, and the outside libraries that
# a user of these links too.
function(thalweg_objects root out_objects out_outside)
  set(objects)
  set(outside)
  set(seen)
  set(open ${root})
  while(open)
    list(POP_FRONT open target)
    list(APPEND seen ${target})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^thalweg_" AND NOT link IN_LIST seen AND NOT link IN_LIST open)
        list(APPEND open ${link})
      elseif(link STREQUAL "Threads::Threads")
        list(APPEND outside pthread)
      elseif(link STREQUAL "ZLIB::ZLIB")
        list(APPEND outside z)
      elseif(link STREQUAL "BZip2::BZip2")
        list(APPEND outside bz2)
      elseif(link STREQUAL "nlohmann_json::nlohmann_json")
        continue()                                    # Headers alone.
      elseif(link MATCHES "^((PkgConfig|[a-z]+)::)?([A-Za-z0-9]+)$")
        string(TOLOWER ${CMAKE_MATCH_3} library)
        list(APPEND outside ${library})
      elseif(link AND NOT link MATCHES "^thalweg_")
        message(FATAL_ERROR "${target} links ${link}; cmake/Packaging.cmake does not know its library's name")
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES outside)
  set(${out_objects} ${objects} PARENT_SCOPE)
  set(${out_outside} ${outside} PARENT_SCOPE)
endfunction()

# The layers that the public headers stand on, as one archive, so that inner libraries and headers stay private.
if(TARGET thalweg_train)
  thalweg_objects(thalweg_train objects outside)
  add_library(thalweg_archive STATIC ${objects})
  set_target_properties(thalweg_archive PROPERTIES OUTPUT_NAME thalweg LINKER_LANGUAGE CXX)
  install(FILES $<TARGET_FILE:thalweg_archive> DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  install(DIRECTORY include/thalweg DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
    FILES_MATCHING PATTERN "*.h")

  # The C interface: a shared library that shows the functions of thalweg/thalweg.h and no others.
  thalweg_objects(thalweg_client c_objects c_outside)
  add_library(thalweg_c SHARED ${c_objects})
  target_link_libraries(thalweg_c PRIVATE thalweg_client)
  set(THALWEG_C_SOVERSION 2)
  set_target_properties(thalweg_c PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${THALWEG_C_SOVERSION}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/thalweg_c.map)
  target_link_options(thalweg_c PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/thalweg_c.map
    -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  install(TARGETS thalweg_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c NAMELINK_COMPONENT library)

  list(TRANSFORM outside PREPEND -l OUTPUT_VARIABLE THALWEG_LINK_FLAGS)
  list(JOIN THALWEG_LINK_FLAGS " " THALWEG_LINK_FLAGS)
  list(REMOVE_ITEM outside pthread)
  list(JOIN outside " " THALWEG_LINK_LIBRARIES)
  file(RELATIVE_PATH THALWEG_PC_TO_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
  configure_file(cmake/thalweg.pc.in ${PROJECT_BINARY_DIR}/package/thalweg.pc @ONLY)
  configure_file(cmake/thalweg_c.pc.in ${PROJECT_BINARY_DIR}/package/thalweg_c.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/thalweg.pc ${PROJECT_BINARY_DIR}/package/thalweg_c.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thalweg)
  configure_package_config_file(cmake/thalwegConfig.cmake.in ${PROJECT_BINARY_DIR}/package/thalwegConfig.cmake
    INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/thalwegConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/thalwegConfig.cmake ${PROJECT_BINARY_DIR}/package/thalwegConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT library)
endif()

if(TARGET thalweg)
  # The program writes its man page and completions itself, from its own table of options.
  set(extras ${PROJECT_BINARY_DIR}/package)
  file(MAKE_DIRECTORY ${extras})
  add_custom_command(OUTPUT ${extras}/thalweg.1 ${extras}/thalweg.bash ${extras}/_thalweg ${extras}/thalweg.fish
    COMMAND thalweg help --man > ${extras}/thalweg.1
    COMMAND thalweg completion bash > ${extras}/thalweg.bash
    COMMAND thalweg completion zsh > ${extras}/_thalweg
    COMMAND thalweg completion fish > ${extras}/thalweg.fish
    DEPENDS thalweg VERBATIM)
  add_custom_target(thalweg_extras ALL DEPENDS ${extras}/thalweg.1)
  install(FILES ${extras}/thalweg.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${extras}/thalweg.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME thalweg COMPONENT program)
  install(FILES ${extras}/_thalweg DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
  install(FILES ${extras}/thalweg.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  install(TARGETS thalweg RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)  # Which messages name.
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program library c)
if(TARGET thalweg_torch)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME thalweg)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libthalweg-dev)
set(CPACK_DEBIAN_C_PACKAGE_NAME libthalweg-c${THALWEG_C_SOVERSION})
set(CPACK_DEBIAN_TORCH_PACKAGE_NAME thalweg-torch)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} component_upper)
  set(CPACK_DEBIAN_${component_upper}_PACKAGE_SHLIBDEPS ON)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${component_upper}_PACKAGE_NAME}
    RENAME copyright COMPONENT ${component})
endforeach()
# Packages of others that link the C interface learn from these what they depend on.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_PACKAGE_CONTACT "Thalweg maintainers <thalweg@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "gnuplot-nox | gnuplot, graphviz, libcurl4, libucx0")  # All looked for when asked for.
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "trains sparse models through a parameter server\n Linear models and factorization machines from click logs.")
set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "thalweg (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TORCH_PACKAGE_RECOMMENDS libopenblas0-pthread)
set(CPACK_COMPONENT_TORCH_DESCRIPTION
  "dense models of thalweg\n Softmax regression, perceptrons and convolutional networks, computed by LibTorch.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${CPACK_DEBIAN_C_PACKAGE_NAME} (= ${PROJECT_VERSION}), libfmt-dev, libxxhash-dev, libhwy-dev, libtomlplusplus-dev, libsodium-dev, libzstd-dev, zlib1g-dev, liblzma-dev, libbz2-dev")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
  "parameter server, development files\n C++ headers and the static library.")
set(CPACK_DEBIAN_C_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_C_DESCRIPTION
  "parameter server, shared library\n Groups of ranks and gradients of networks, for programs in C and languages that call it.")
include(CPack)

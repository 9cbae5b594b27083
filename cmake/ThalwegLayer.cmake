# thalweg_layer(NAME [DEPS layer...] [TEST_DEPS layer...] [LIBS target...] [WITHOUT regex]): the library of src/NAME
# and its folders from their *.cc, and one test program from their *_test.cc. DEPS are other layers, TEST_DEPS those that only its tests
# use; LIBS are outside libraries; files that match WITHOUT are left out.
find_package(Threads REQUIRED)

add_library(thalweg_flags INTERFACE)
target_include_directories(thalweg_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
set(as_one $<BOOL:$<TARGET_PROPERTY:THALWEG_TESTS_AS_ONE>>)  # A test's local names may hide those of another file then.
target_compile_options(thalweg_flags INTERFACE
  -Wall -Wextra $<$<NOT:${as_one}>:-Wshadow> $<$<AND:${as_one},$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  -Wconversion -Wnon-virtual-dtor -Wsuggest-override -Wold-style-cast -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>  # Part of clang's -Wconversion, but not of g++'s.
  -ffp-contract=off -fno-omit-frame-pointer)
if(CMAKE_UNITY_BUILD)
  target_compile_options(thalweg_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # Of coroutines' frames.
endif()
set(THALWEG_TEST_PREFIX "")
set(THALWEG_TEST_FILTER "")
if(THALWEG_SANITIZE)
  target_compile_options(thalweg_flags INTERFACE -fsanitize=${THALWEG_SANITIZE} -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)  # clang 14 cannot compile it for coroutines.
  target_link_options(thalweg_flags INTERFACE -fsanitize=${THALWEG_SANITIZE})
  if(THALWEG_SANITIZE STREQUAL "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # As shared libraries, UndefinedBehaviorSanitizer's leaves log_path to AddressSanitizer's, which has another.
    target_link_options(thalweg_flags INTERFACE -static-libasan -static-libubsan)
  endif()
  # AVX2 and scalar code are enough here: the other vector targets cost more than half of the kernels' compile time.
  target_compile_definitions(thalweg_flags INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
  string(REGEX REPLACE "^(.).*" "\\1san." THALWEG_TEST_PREFIX ${THALWEG_SANITIZE})
  # The release build alone runs what takes all seeds or long simulations, and under ThreadSanitizer what simulates: it has
  # one thread; what times routes; and what trains several times as other tests do once.
  set(THALWEG_TEST_FILTER "-*.SeedsReach*:SchedulerRestarts.AStateInAnEtcd*:SimulateTrain.Elastic*:SimulateTrain.ShardsOfAGroup*:Compare.SimulatesRuns*:Figures.*:Published.*:Planner.Tunes*:Planner.Chooses*:Estimate.IsNear*:TopoBench.MeasuresRoutes*")
  if(THALWEG_SANITIZE STREQUAL "thread")
    set(THALWEG_TEST_FILTER "-*Simulat*:TopoBench.Measures*:RunDirectories.IsDrawn:Scoring.EvalCompares*:UnevenLabels.*:Shuffle.TheOrder*:KeepBestOfCheckpoints.*:Resume.*")
  endif()
endif()

# The layers that start threads. Under ThreadSanitizer only their tests exist: the others have nothing to find.
set(THALWEG_THREADED_LAYERS data net client train cli)

# Tests compile in two thirds of the time where they are not optimized, by clang with sanitizers in a third: what they test
# is in archives, as it ships. These run for minutes then.
set(THALWEG_TESTS_THAT_COMPUTE table_test staleness_test topology_test exchange_test group_test server_test sim_test
  client_test)

# g++ 12 takes the memory of coroutines that bring their own for another's where nothing is inlined.
set(THALWEG_UNOPTIMIZED "-O0;$<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>")

# Of their archives tests of planted bugs take all objects but those that they have with bugs of their own.
if(NOT THALWEG_SANITIZE)
  set(THALWEG_REPLACED_LAYERS base table exchange net)
endif()

if(THALWEG_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Listing the tests when ctest starts keeps builds from running programs.
  set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
endif()

# thalweg_gtest(NAME SOURCES source... LIBS target... [LABELS label...]): a GoogleTest program, its tests in ctest.
function(thalweg_gtest name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT THALWEG_TESTS OR (THALWEG_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST ARG_LABELS))
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE THALWEG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(name IN_LIST THALWEG_TESTS_THAT_COMPUTE)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  else()
    target_compile_options(${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${THALWEG_UNOPTIMIZED}>")
  endif()
  if(THALWEG_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_definitions(${name} PRIVATE __SANITIZE_ADDRESS__=1)  # As g++ says it; tests try fewer cases then.
  endif()
  if(CMAKE_UNITY_BUILD)
    set_target_properties(${name} PROPERTIES THALWEG_TESTS_AS_ONE ON)
  endif()
  string(REGEX REPLACE "_test$" "" prefix ${name})
  gtest_discover_tests(${name} TEST_PREFIX "${THALWEG_TEST_PREFIX}${prefix}." DISCOVERY_TIMEOUT 60
    TEST_FILTER "${THALWEG_TEST_FILTER}" PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

# thalweg_leave_apart(TEXT SOURCE...): of these, what has TEXT is compiled as no part of another file.
function(thalweg_leave_apart text)
  foreach(source ${ARGN})
    file(STRINGS ${source} found REGEX ${text} LIMIT_COUNT 1)
    if(found)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

function(thalweg_layer name)
  cmake_parse_arguments(ARG "" "WITHOUT" "DEPS;TEST_DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${ARG_WITHOUT}")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz)\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND thalweg_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND thalweg_)
  if(sources)
    add_library(thalweg_${name} STATIC ${sources})
    target_link_libraries(thalweg_${name} PUBLIC thalweg_flags ${ARG_DEPS} ${ARG_LIBS})
    set_property(GLOBAL APPEND PROPERTY THALWEG_ARCHIVES thalweg_${name})
    thalweg_leave_apart(HWY_TARGET_INCLUDE ${sources})  # Highway includes it again for each kind of processor.
    if(name IN_LIST THALWEG_REPLACED_LAYERS)
      thalweg_leave_apart(THALWEG_BUG ${sources})
    endif()
  else()
    add_library(thalweg_${name} INTERFACE)
    target_link_libraries(thalweg_${name} INTERFACE thalweg_flags ${ARG_DEPS} ${ARG_LIBS})
  endif()
  set(labels unit ${name})
  if(name IN_LIST THALWEG_THREADED_LAYERS)
    list(APPEND labels threads)
  endif()
  if(tests)
    thalweg_gtest(${name}_test SOURCES ${tests} LIBS thalweg_${name} ${ARG_TEST_DEPS} LABELS ${labels})
  endif()
endfunction()

# thalweg_fuzz(NAME SOURCES LIBS...): a libFuzzer program NAME, NAME ending in _fuzz, and a test that runs it for
# FUZZ_SECONDS from tests/corpus. Needs clang. Under the asan preset it tries the corpus and what is near it, with layers
# as other tests have them; under the fuzz preset it is led by what each input reaches in the layers.
function(thalweg_fuzz name sources)
  if(THALWEG_FUZZ)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${ARGN})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${PROJECT_SOURCE_DIR}/tools/run_fuzz $<TARGET_FILE:${name}>
      ${PROJECT_SOURCE_DIR}/tests/corpus ${PROJECT_BINARY_DIR}/crashes)
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz)
    set_property(GLOBAL APPEND PROPERTY THALWEG_FUZZ_TARGETS ${name})
  endif()
endfunction()

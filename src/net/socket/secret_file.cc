#include "net/socket/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace thalweg {
namespace {

constexpr mode_t kOwnerAlone = 0600;
constexpr mode_t kOfOthers = 0077;
constexpr int kAboveThoseOfScripts = 64;  // Which name low ones without asking who else has them.
constexpr std::string_view kHexDigits = "0123456789abcdef";

void draw(std::span<std::byte> into) {
  THALWEG_CHECK(::getentropy(into.data(), into.size()) == 0, "the kernel has random bytes");
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

Status secret_error(const std::string& path, const char* what, int error) {
  return {Code::kIo, fmt::format("{}: cannot {} the secret: {}", path, what, std::strerror(error))};
}

Result<Secret> parse_secret(const std::string& path, std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  Secret secret;
  const auto digit = [](char c) {
    return kHexDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  };
  const bool is_hex = std::ranges::all_of(text, [&](char c) { return digit(c) != std::string_view::npos; });
  if (!is_hex || text.size() != 2 * secret.bytes.size()) {
    return Status(Code::kUsage,
                  fmt::format("{}: expected a secret, {} hexadecimal digits and nothing else; found {}", path,
                              2 * secret.bytes.size(),
                              is_hex ? fmt::format("{} digits", text.size()) : "other characters"));
  }
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
    secret.bytes[i] = static_cast<std::byte>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return secret;
}

Status write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return {Code::kIo, std::strerror(errno)};
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Secret draw_secret() {
  Secret secret;
  draw(secret.bytes);
  return secret;
}

Handshake::Nonce draw_nonce() {
  Handshake::Nonce nonce;
  draw(nonce);
  return nonce;
}

Result<Secret> read_secret(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return secret_error(path, "open", errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return secret_error(path, "look at", errno);
  if (!S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode)) {
    return Status(Code::kUsage, fmt::format("{}: is no file; expected one with a secret", path));
  }
  if ((found.st_mode & kOfOthers) != 0) {
    return Status(Code::kUsage,
                  fmt::format("{}: others than its owner can use this secret, its mode is {:04o}; "
                              "draw another one, or at least chmod 600 it",
                              path, found.st_mode & 07777));
  }
  std::string text(256, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return secret_error(path, "read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return parse_secret(path, std::move(text));
}

// Written whole under another name first, so that nobody reads a part of it and the first of several wins.
Result<Secret> read_or_make_secret(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return read_secret(path);
  const std::string fresh = fmt::format("{}.{}.{}", path, ::getpid(), to_hex(draw_nonce()).substr(0, 8));
  const FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerAlone));
  if (!file) return secret_error(path, "make", errno);
  const Status written = write_whole(file.get(), to_hex(draw_secret().bytes) + "\n");
  const bool linked = written.ok() && (::link(fresh.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  ::unlink(fresh.c_str());
  if (!written.ok()) return Status(Code::kIo, path + ": cannot write the secret: " + written.message());
  if (!linked) return secret_error(path, "make", error);
  return read_secret(path);
}

Result<Secret> secret_in(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return secret_error(folder, "keep", errno);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return secret_error(folder, "keep", errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & kOfOthers) != 0) {
    return Status(Code::kIo,
                  fmt::format("{}: cannot keep this user's secret where others have a say; name a file "
                              "of your own for it",
                              folder));
  }
  return read_or_make_secret(folder + "/secret");
}

Result<Secret> secret_of_user() {
  const std::string user = std::to_string(::geteuid());
  const std::string run = "/run/user/" + user;
  if (::access(run.c_str(), W_OK) == 0) return secret_in(run + "/thalweg");
  return secret_in("/tmp/thalweg-" + user);
}

Result<FileDescriptor> secret_descriptor(const Secret& secret) {
  FileDescriptor memory(::memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::fchmod(memory.get(), kOwnerAlone) != 0) {
    return secret_error("a file in memory", "make", errno);
  }
  if (Status status = write_whole(memory.get(), to_hex(secret.bytes) + "\n"); !status.ok()) return status;
  constexpr int kForGood = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(memory.get(), F_ADD_SEALS, kForGood) != 0)
    return secret_error("a file in memory", "seal", errno);
  FileDescriptor high(::fcntl(memory.get(), F_DUPFD_CLOEXEC, kAboveThoseOfScripts));
  return high ? std::move(high) : std::move(memory);
}

std::string descriptor_path(int fd) { return fmt::format("/dev/fd/{}", fd); }

}  // namespace thalweg

// Arbitrary bytes as what an etcd answers, and as what its keys hold: they are refused, or are what they say.
#include <span>
#include <string_view>

#include "base/check.h"
#include "net/etcd/etcd_message.h"
#include "net/etcd/etcd_value.h"

namespace {

using namespace thalweg;

void read_kept(std::string_view text) {
  const auto kept = etcd::decode_kept(text);
  if (!kept) return;
  const std::string again =
      kept->pieces ? etcd::encode_pieces(*kept->pieces) : etcd::encode_value(kept->value);
  THALWEG_CHECK(again == text, "what a key holds has one form");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 8) {
    case 0:
      (void)etcd::read_range(text);
      break;
    case 1:
      (void)etcd::read_swap(text);
      break;
    case 2:
      (void)etcd::read_grant(text);
      break;
    case 3:
      (void)etcd::read_renewal(text);
      break;
    case 4:
      (void)etcd::read_watch(text);
      break;
    case 5:
      (void)etcd::read_status(text);
      break;
    case 6:
      THALWEG_CHECK(!etcd::error_of(500, text).ok(), "an error is one, whatever it says");
      break;
    default:
      read_kept(text);
  }
  return 0;
}

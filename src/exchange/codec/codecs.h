// The codecs, one a file, and what they share.
#pragma once

#include <cstring>
#include <memory>

#include "exchange/codec/codec.h"

namespace thalweg::codecs {

std::unique_ptr<Codec> make_half(DataType type);
std::unique_ptr<Codec> make_int8();
std::unique_ptr<Codec> make_top_k(double kept);
std::unique_ptr<Codec> make_random_k(double kept);
std::unique_ptr<Codec> make_sign();

// How many of `count` elements a share is: at least one, if there is one.
std::size_t kept_of(double kept, std::size_t count);
// kData unless there are exactly as many bytes as wanted.
Status check_size(const char* codec, std::size_t bytes, std::size_t wanted);
// A block's scale as encode() writes it: zero, positive and normal, or NaN.
bool is_scale(float scale);

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace thalweg::codecs

#include "net/ucx/stream_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace thalweg {
namespace {

std::byte window_byte(std::uint64_t i) { return static_cast<std::byte>(i * 131 + i / 251); }

void deliver(const SendWindow::Message& message, ReceiveWindow& to) {
  std::byte* place = to.place(message.at, message.size);
  ASSERT_NE(place, nullptr);
  std::copy(message.data, message.data + message.size, place);
  to.on_message(message.at, message.size);
}

TEST(StreamWindow, AMessageThatComesAgainIsNoNews) {
  SendWindow sender;
  ReceiveWindow receiver;
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = window_byte(i);
  const Piece whole[] = {{bytes.data(), bytes.size()}};
  ASSERT_EQ(sender.put(whole), bytes.size());
  const SendWindow::Message message = sender.take_message();
  deliver(message, receiver);
  receiver.on_message(message.at, message.size);
  EXPECT_EQ(receiver.read(bytes.data(), bytes.size()), message.size);
  EXPECT_EQ(receiver.peek(1).size, 0u);
}

TEST(StreamWindow, MessagesInAnyOrderAreAStream) {
  std::mt19937 chance(7);
  SendWindow sender;
  ReceiveWindow receiver;
  std::vector<SendWindow::Message> under_way;
  std::uint64_t put = 0, got = 0;
  std::vector<std::byte> bytes(90'000);
  while (got < 3'000'000) {
    const std::size_t size = 1 + chance() % bytes.size(), half = size / 2;
    for (std::size_t i = 0; i < size; ++i) bytes[i] = window_byte(put + i);
    const Piece pieces[] = {{bytes.data(), half}, {bytes.data() + half, size - half}};
    put += sender.put(pieces);
    for (auto message = sender.take_message(); message.size > 0; message = sender.take_message()) {
      ASSERT_LE(message.size, kWindowMessageBytes);
      under_way.push_back(message);
    }
    std::shuffle(under_way.begin(), under_way.end(), chance);
    for (std::size_t left = chance() % (under_way.size() + 1); left < under_way.size();) {
      deliver(under_way.back(), receiver);
      under_way.pop_back();
    }
    const std::size_t read = receiver.read(bytes.data(), 1 + chance() % bytes.size());
    for (std::size_t i = 0; i < read; ++i) ASSERT_EQ(bytes[i], window_byte(got + i));
    got += read;
    if (receiver.owes_news() || receiver.hides_room()) {
      ASSERT_TRUE(sender.on_consumed(receiver.take_news()));
    }
  }
}

TEST(StreamWindow, TheWriterStaysWithinTheWindow) {
  SendWindow sender;
  ReceiveWindow receiver;
  const std::vector<std::byte> bytes(kWindowBytes + 5);
  const Piece all{bytes.data(), bytes.size()};
  EXPECT_EQ(sender.put({&all, 1}), kWindowBytes);
  EXPECT_EQ(sender.put({&all, 1}), 0U);
  for (auto message = sender.take_message(); message.size > 0; message = sender.take_message()) {
    deliver(message, receiver);
  }
  EXPECT_EQ(receiver.place(kWindowBytes, 1), nullptr);
  EXPECT_EQ(receiver.peek(10).size, 10U);
  receiver.consume(10);
  EXPECT_FALSE(receiver.owes_news());
  EXPECT_TRUE(receiver.hides_room());
  ASSERT_TRUE(sender.on_consumed(receiver.take_news()));
  EXPECT_FALSE(receiver.hides_room());
  EXPECT_EQ(sender.put({&all, 1}), 10U);
}

TEST(StreamWindow, WhatNoWriterSendsHasNoPlace) {
  ReceiveWindow receiver;
  EXPECT_EQ(receiver.place(0, 0), nullptr);
  EXPECT_EQ(receiver.place(1, kWindowBytes), nullptr);
  EXPECT_EQ(receiver.place(~std::uint64_t{0}, 2), nullptr);
  EXPECT_EQ(receiver.place(0, ~std::size_t{0}), nullptr);
  ASSERT_NE(receiver.place(0, 100), nullptr);
  receiver.on_message(0, 100);
  EXPECT_EQ(receiver.place(99, 1), nullptr);  // A second time.
  receiver.on_message(200, 50);
  receiver.on_message(200, 10);
  receiver.on_message(100, 100);
  EXPECT_EQ(receiver.peek(kWindowBytes).size, 250U);
  receiver.consume(250);
  EXPECT_EQ(receiver.place(kWindowBytes - 1, 2), nullptr);  // Across the end.
  SendWindow sender;
  EXPECT_FALSE(sender.on_consumed(1));
}

}  // namespace
}  // namespace thalweg

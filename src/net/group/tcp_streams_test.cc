#include "net/group/tcp_streams.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "net/socket/secret_file.h"

namespace thalweg {
namespace {

struct Ends {
  FileDescriptor one, other;
};
Ends connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

TcpStreams streams_over(RankConnection connection) {
  TcpStreams streams("rank 0", [](std::uint16_t) -> Result<RankConnection> { return RankConnection(); });
  streams.adopt(0, std::move(connection));
  return streams;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

void say(const FileDescriptor& socket, std::span<const std::byte> bytes) {
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

std::string read_from(TcpStreams& streams) {
  std::array<std::byte, 64> into{};
  const std::size_t got = streams.read(0, into.data(), into.size());
  std::string text(got, '\0');
  std::memcpy(text.data(), into.data(), got);
  return text;
}

const Opening kOpening{Opening::Kind::kStream, 1, 0, 0, 0, {3, 4}, {5, 6}};

TEST(TcpStreams, ReadsNothingBeforeWhoWasCalledHasProvenItself) {
  const Proof answer = answer_to(draw_secret(), kOpening);
  Ends ends = connected();
  TcpStreams streams = streams_over({std::move(ends.one), false, answer});
  EXPECT_EQ(read_from(streams), "");
  for (std::size_t i = 0; i < answer.size(); ++i) {
    say(ends.other, std::span(answer).subspan(i, 1));
    EXPECT_EQ(read_from(streams), "");
  }
  say(ends.other, bytes_of("sums"));
  EXPECT_EQ(read_from(streams), "sums");
  EXPECT_TRUE(streams.status().ok());
}

// It has the port of a rank that has died, say.
TEST(TcpStreams, WhatAStrangerAnswersIsNotRead) {
  const Proof answer = answer_to(draw_secret(), kOpening);
  for (const Proof& guess : {answer_to(draw_secret(), kOpening), answer_to({}, kOpening), Proof{}}) {
    Ends ends = connected();
    TcpStreams streams = streams_over({std::move(ends.one), false, answer});
    say(ends.other, guess);
    say(ends.other, bytes_of("lies"));
    EXPECT_EQ(read_from(streams), "");
    EXPECT_EQ(streams.peek(0, 4).size, 0U);
    say(ends.other, answer);
    say(ends.other, bytes_of("lies"));
    EXPECT_EQ(read_from(streams), "");
    EXPECT_EQ(streams.status(), Status(Code::kPeerLost,
                                       "rank 0 is lost: who answers for it does not know the secret of this "
                                       "group"));
    const std::string own = "own";
    const Piece piece{bytes_of(own).data(), own.size()};
    EXPECT_EQ(streams.write(0, {&piece, 1}), 0U);
  }
}

// An end that reads alone says nothing, so that its peer may leave without having read it.
TEST(TcpStreams, WhoWasCalledProvesItselfWithItsFirstBytes) {
  const Proof answer = answer_to(draw_secret(), kOpening);
  Ends ends = connected();
  TcpStreams streams = streams_over({std::move(ends.one), true, answer});
  say(ends.other, bytes_of("hers"));
  EXPECT_EQ(read_from(streams), "hers");
  std::array<std::byte, 64> into{};
  EXPECT_LT(::recv(ends.other.get(), into.data(), into.size(), MSG_DONTWAIT), 0);
  const std::string own = "mine";
  const Piece piece{bytes_of(own).data(), own.size()};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(streams.write(0, {&piece, 1}), own.size());
  std::vector<std::byte> expected(answer.begin(), answer.end());
  const std::string twice = own + own;
  for (const std::byte byte : bytes_of(twice)) expected.push_back(byte);
  const ssize_t got = ::recv(ends.other.get(), into.data(), into.size(), MSG_DONTWAIT);
  ASSERT_EQ(got, static_cast<ssize_t>(expected.size()));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), into.begin()));
}

}  // namespace
}  // namespace thalweg

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

// Framed bytes over a TCP connection, between supervisors of a job without MPI.
namespace ncclprobe::launch {

enum class FrameKind : std::uint8_t {
  challenge,  // rank 0's first words to a connection
  hello,      // the answer: who it is
  welcome,    // and whether it may stay
  assembled,  // all have joined, or will not
  message,    // of the tree (tree_mail.h)
  clock_here, // ready to compare clocks
  clock_go,
  clock_ask,
  clock_answer,
};

struct Frame {
  FrameKind kind = FrameKind::message;
  int from = 0;
  int to = 0;
  std::string bytes;
};

// A connected socket. Nothing here waits. Memory for what arrives grows with what has arrived,
// whatever length a frame claims.
class FrameSocket {
public:
  // A frame with more bytes than this ends the connection.
  static constexpr std::size_t k_most_bytes_of_stranger = 4096;
  static constexpr std::size_t k_most_bytes = std::size_t{1} << 30;

  explicit FrameSocket(base::Fd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }

  // The other end has proved who it is: long frames are accepted from now on.
  void trust() { most_bytes_ = k_most_bytes; }

  void enqueue(const Frame& frame);
  bool has_unsent() const { return !outbox_.empty(); }
  // Sends what the other end accepts now. False: the connection has ended.
  bool flush();
  // Takes what has arrived. False: the connection has ended, or does not follow the protocol;
  // frames that came before can still be taken.
  bool receive();
  std::optional<Frame> next();

private:
  base::Fd socket_;
  std::size_t most_bytes_ = k_most_bytes_of_stranger;
  std::deque<std::string> outbox_;
  std::size_t sent_ = 0; // of the first one
  std::string inbox_;
  std::size_t taken_ = 0; // of the inbox
};

} // namespace ncclprobe::launch

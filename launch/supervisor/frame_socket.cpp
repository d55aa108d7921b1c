// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/frame_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace ncclprobe::launch {
namespace {

// In the machine's byte order, which is the same on all hosts of a run.
struct FrameHeader {
  std::uint32_t size = 0;
  std::uint32_t kind = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
};
constexpr std::size_t k_receive_bytes = 64 << 10;
constexpr int k_most_pieces = 64; // then others get their turn

bool must_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

} // namespace

void FrameSocket::enqueue(const Frame& frame) {
  if (frame.bytes.size() > k_most_bytes)
    raise(Errc::invalid_argument, "a message of {} bytes is longer than a supervisor takes",
          frame.bytes.size());
  const FrameHeader header{static_cast<std::uint32_t>(frame.bytes.size()),
                           static_cast<std::uint32_t>(frame.kind), frame.from, frame.to};
  std::string bytes(sizeof header + frame.bytes.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, frame.bytes.data(), frame.bytes.size());
  outbox_.push_back(std::move(bytes));
}

bool FrameSocket::flush() {
  while (!outbox_.empty()) {
    const std::string& first = outbox_.front();
    const ssize_t sent =
        ::send(fd(), first.data() + sent_, first.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
      return must_wait();
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < first.size())
      continue;
    outbox_.pop_front();
    sent_ = 0;
  }
  return true;
}

bool FrameSocket::receive() {
  if (taken_ == inbox_.size())
    std::string().swap(inbox_); // rank 0 has thousands of sockets: none keeps memory for nothing
  else
    inbox_.erase(0, taken_);
  taken_ = 0;
  std::array<char, k_receive_bytes> arrived;
  for (int piece = 0; piece < k_most_pieces; ++piece) {
    const ssize_t got = ::recv(fd(), arrived.data(), arrived.size(), MSG_DONTWAIT);
    inbox_.append(arrived.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && !must_wait()))
      return false;
    FrameHeader header;
    if (inbox_.size() >= sizeof header) {
      std::memcpy(&header, inbox_.data(), sizeof header);
      if (header.size > most_bytes_)
        return false;
    }
    if (most_bytes_ == k_most_bytes_of_stranger && inbox_.size() > 2 * most_bytes_)
      return false;
    if (got < static_cast<ssize_t>(k_receive_bytes))
      break;
  }
  return true;
}

std::optional<Frame> FrameSocket::next() {
  FrameHeader header;
  if (inbox_.size() - taken_ < sizeof header)
    return std::nullopt;
  std::memcpy(&header, inbox_.data() + taken_, sizeof header);
  if (header.size > most_bytes_ || inbox_.size() - taken_ - sizeof header < header.size)
    return std::nullopt;
  Frame frame{static_cast<FrameKind>(header.kind), header.from, header.to,
              inbox_.substr(taken_ + sizeof header, header.size)};
  taken_ += sizeof header + header.size;
  return frame;
}

} // namespace ncclprobe::launch

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/channel.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace ncclprobe::wire {
namespace {

void wait_for(int fd, short events, base::Deadline deadline) {
  pollfd entry{fd, events, 0};
  constexpr int k_longest_wait_ms = 60'000; // then checks the deadline again
  ::poll(&entry, 1, deadline.left_ms(k_longest_wait_ms));
}

} // namespace

Channel::Channel(base::Fd fd, std::vector<std::string> secrets)
    : fd_(std::move(fd)), decoder_(std::move(secrets)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

Result<void> Channel::flush() {
  std::size_t written = 0;
  Result<void> result;
  while (written < outbox_.size()) {
    ssize_t size =
        ::send(fd_.get(), outbox_.data() + written, outbox_.size() - written, MSG_NOSIGNAL);
    if (size >= 0) {
      written += static_cast<std::size_t>(size);
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      break;
    if (errno == EPIPE || errno == ECONNRESET)
      result = fail(Errc::crashed, "the other end of the channel is closed");
    else
      result = fail(Errc::io, "cannot write to the channel: {}", std::strerror(errno));
    written = outbox_.size(); // nobody will read the rest
  }
  outbox_.erase(0, written);
  return result;
}

Result<void> Channel::send(const Message& message, base::Deadline deadline) {
  enqueue(message);
  while (true) {
    NCCLPROBE_TRY(flush());
    if (outbox_.empty())
      return {};
    if (deadline.expired())
      return fail(Errc::timed_out, "the other end of the channel does not read");
    wait_for(fd_.get(), POLLOUT, deadline);
  }
}

Result<std::optional<Message>> Channel::receive(base::Deadline deadline) {
  std::array<char, 65536> chunk;
  while (true) {
    NCCLPROBE_TRY_ASSIGN(auto message, decoder_.next());
    if (message)
      return message;
    ssize_t size = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (size > 0) {
      decoder_.feed(chunk.data(), static_cast<std::size_t>(size));
      continue;
    }
    if (size == 0 || errno == ECONNRESET)
      return fail(Errc::crashed, "the other end of the channel is closed");
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return fail(Errc::io, "cannot read from the channel: {}", std::strerror(errno));
    if (deadline.expired())
      return std::nullopt;
    wait_for(fd_.get(), POLLIN, deadline);
  }
}

Result<std::pair<Channel, base::Fd>> make_channel(std::vector<std::string> secrets) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::unavailable, "cannot make a channel: {}", std::strerror(errno));
  return std::pair(Channel(base::Fd(ends[0]), std::move(secrets)), base::Fd(ends[1]));
}

} // namespace ncclprobe::wire

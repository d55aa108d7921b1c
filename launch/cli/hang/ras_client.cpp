// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/ras_client.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/split.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

namespace ncclprobe::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto k_patience = 20s; // RAS itself waits 5 s for each of two rounds
constexpr std::size_t k_most_bytes = std::size_t{1} << 20;
constexpr std::string_view k_request = "verbose status\n";

// Waits until the socket can be read or written; false: not in time.
bool wait_for(const base::Fd& socket, short what, const base::Deadline& deadline) {
  while (!deadline.expired()) {
    pollfd one{socket.get(), what, 0};
    const int ready = poll(&one, 1, deadline.left_ms(1000));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      return false;
  }
  return false;
}

// Connected, or empty with errno.
base::Fd connected(const addrinfo& address, const base::Deadline& deadline) {
  base::Fd socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           address.ai_protocol));
  if (!socket)
    return {};
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0)
    return socket;
  if (errno != EINPROGRESS || !wait_for(socket, POLLOUT, deadline))
    return {};
  int problem = 0;
  socklen_t size = sizeof problem;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0 || problem != 0) {
    errno = problem;
    return {};
  }
  return socket;
}

} // namespace

Result<std::vector<std::string>> ask_ras(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    return fail(Errc::invalid_argument, "'{}' is not HOST:PORT, such as {}", address,
                k_ras_address);
  const base::Deadline deadline = base::Deadline::after(k_patience);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int problem = getaddrinfo(address.substr(0, colon).c_str(),
                                      address.substr(colon + 1).c_str(), &wanted, &found);
      problem != 0)
    return fail(Errc::unavailable, "NCCL RAS at {}: {}", address, gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  base::Fd socket;
  for (const addrinfo* one = found; one != nullptr && !socket; one = one->ai_next)
    socket = connected(*one, deadline);
  if (!socket)
    return fail(Errc::unavailable, "NCCL RAS does not listen at {}: {}", address,
                std::strerror(errno));
  if (!wait_for(socket, POLLOUT, deadline) || base::write_all(socket.get(), k_request) != 0)
    return fail(Errc::unavailable, "NCCL RAS at {} takes no request", address);
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < k_most_bytes && wait_for(socket, POLLIN, deadline)) {
    const ssize_t got = read(socket.get(), piece.data(), piece.size());
    if (got > 0)
      text.append(piece.data(), static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
      break;
  }
  if (text.empty())
    return fail(Errc::timed_out, "NCCL RAS at {} does not answer", address);
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n'))
    lines.emplace_back(line.substr(0, line.find_last_not_of('\r') + 1));
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

} // namespace ncclprobe::cli

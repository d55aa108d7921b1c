// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/supervisor_message.h"

#include "launch/supervisor/frame_socket.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <sys/socket.h>

using namespace ncclprobe;

namespace {

void read_message(std::string_view bytes) {
  const auto message = launch::decode_supervisor_message(bytes);
  if (!message)
    return;
  const std::string sent = launch::encode(*message);
  const auto again = launch::decode_supervisor_message(sent);
  if (!again || launch::encode(*again) != sent)
    std::abort();
}

// As they arrive over TCP, from a stranger or from a supervisor.
void read_frames(std::string_view bytes, bool trusted) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    std::abort();
  const base::Fd writer(ends[0]);
  launch::FrameSocket socket{base::Fd(ends[1])};
  if (trusted)
    socket.trust();
  while (!bytes.empty()) {
    const ssize_t written = ::send(writer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    const bool open = socket.receive();
    while (const auto frame = socket.next())
      read_message(frame->bytes);
    if (!open)
      return;
  }
}

} // namespace

// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 3 == 0)
    read_message(bytes);
  else
    read_frames(bytes, data[0] % 3 == 1);
  return 0;
}

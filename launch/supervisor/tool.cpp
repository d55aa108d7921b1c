// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tool.h"

#include "base/clock.h"
#include "launch/supervisor/process.h"

#include <csignal>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

constexpr int k_shell_did_not_find_it = 127;
constexpr std::size_t k_most_bytes = 64U << 20U;

std::string content_of(int fd) {
  std::string content;
  char piece[65536];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t size = 0;
       content.size() < k_most_bytes && (size = ::read(fd, piece, sizeof piece)) > 0;)
    content.append(piece, static_cast<std::size_t>(size));
  return content;
}

} // namespace

Result<std::string> output_of_tool(const std::vector<std::string>& words,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds patience) {
  // Its output goes to a file in memory, passed as the descriptor that workers use for their
  // channel. Output through the pipe would be made printable and truncated.
  base::Fd output(::memfd_create("ncclprobe-tool", MFD_CLOEXEC));
  base::Fd handed(::dup(output.get()));
  if (!output || !handed)
    return fail(Errc::unavailable, "no descriptor for the output of {}", words.front());
  ProcessCommand command{"/bin/sh", {"-c", "exec \"$0\" \"$@\" >&3 3>&-"}, environment};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  NCCLPROBE_TRY_ASSIGN(Process process, Process::spawn(command, std::move(handed)));
  base::Deadline deadline = base::Deadline::after(patience);
  std::optional<ExitStatus> end;
  while (!(end = process.poll_exit()) && !deadline.expired()) {
    process.read_output();
    ::poll(nullptr, 0, 5);
  }
  if (!end) {
    process.signal_group(SIGKILL);
    return fail(Errc::timed_out, "{} took more than {} ms", words.front(), patience.count());
  }
  process.read_output();
  process.clear_group();
  if (end->how == ExitStatus::How::exited && end->value == k_shell_did_not_find_it)
    return fail(Errc::not_found, "{} is not here", words.front());
  if (!end->clean())
    return fail(Errc::failed, "{} ended with {}: {}", words.front(), end->text(),
                last_lines(process.output_tail(2048), 3));
  return content_of(output.get());
}

} // namespace ncclprobe::launch

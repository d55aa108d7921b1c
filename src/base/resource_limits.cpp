// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/resource_limits.h"

#include "base/readable_bytes.h"

#include <fstream>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

constexpr std::uint64_t k_least_room_bytes = 32ULL << 20;

std::optional<rlim_t> limit_of(decltype(RLIMIT_AS) which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

} // namespace

std::string file_size_limit() {
  const auto bytes = limit_of(RLIMIT_FSIZE);
  return bytes ? fmt::format("`ulimit -f` allows files of at most {}", readable_bytes(*bytes)) : "";
}

std::string memory_limit() {
  const auto bytes = limit_of(RLIMIT_AS);
  return bytes ? fmt::format("`ulimit -v` allows {} of address space", readable_bytes(*bytes)) : "";
}

std::string process_limit() {
  const auto count = limit_of(RLIMIT_NPROC);
  return count ? fmt::format("`ulimit -u` allows this user {} processes and threads", *count) : "";
}

std::optional<Error> shortage_behind(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return Error{Errc::unavailable, "there is not enough memory", memory_limit()};
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system == nullptr || of_system->code() != std::errc::resource_unavailable_try_again)
    return std::nullopt;
  // A thread needs a stack too.
  const std::string memory = memory_limit();
  return Error{Errc::unavailable, "no more threads can be started",
               memory.empty() ? process_limit() : memory};
}

std::string words_of(const std::exception& error) {
  const auto shortage = shortage_behind(error);
  return shortage ? shortage->text() : error.what();
}

std::uint64_t address_space_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<void> check_memory_limit() {
  const auto limit = limit_of(RLIMIT_AS);
  const std::uint64_t needed = address_space_bytes() + k_least_room_bytes;
  if (!limit || *limit >= needed)
    return {};
  return fail(
      Error{Errc::unavailable, "there is not enough memory",
            fmt::format("{}, but at least {} are needed", memory_limit(), readable_bytes(needed))});
}

} // namespace ncclprobe::base

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "processes.h"

#include "base/atomic_file.h"
#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace ncclprobe::test_launch {
namespace {

// Empty if the process has ended.
std::string content(const std::filesystem::path& path) {
  return base::read_file(path).value_or("");
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = std::min(text.find('\0', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

bool is_zombie(pid_t pid) {
  std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end, 3) == ") Z";
}

} // namespace

std::string make_token() {
  return "NCCLPROBE_TEST_TOKEN=" + std::to_string(getpid()) + "." +
         std::to_string(base::monotonic_ns());
}

std::vector<std::string> environment_of(pid_t pid) {
  return split_at_zeros(content("/proc/" + std::to_string(pid) + "/environ"));
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
}

std::vector<pid_t> processes_with(const std::string& token) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    pid_t pid = std::stoi(name);
    if (pid == getpid() || is_zombie(pid))
      continue;
    std::vector<std::string> environment = environment_of(pid);
    if (std::find(environment.begin(), environment.end(), token) != environment.end())
      found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> processes_with(const std::string& token, const std::string& program) {
  std::vector<pid_t> found = processes_with(token);
  std::erase_if(found, [&](pid_t pid) {
    return content("/proc/" + std::to_string(pid) + "/comm") != program.substr(0, 15) + "\n";
  });
  return found;
}

std::vector<pid_t> wait_for_count(const std::string& token, const std::string& program,
                                  std::size_t wanted, int seconds) {
  base::Deadline end = base::Deadline::after(std::chrono::seconds(seconds));
  while (true) {
    std::vector<pid_t> found =
        program.empty() ? processes_with(token) : processes_with(token, program);
    if (found.size() == wanted || end.expired())
      return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

} // namespace ncclprobe::test_launch

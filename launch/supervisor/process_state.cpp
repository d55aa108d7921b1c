// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/process_state.h"

#include "base/atomic_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace ncclprobe::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_threads = 32; // enough for NCCL's and CUDA's
constexpr int k_kernel_frames = 8;

// Empty if the process has ended.
std::string content(const fs::path& path) {
  std::string text = base::read_file(path).value_or("");
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

// The letter after "pid (name) " in /proc/.../stat; the name may contain parentheses.
std::string state_in(const std::string& stat) {
  std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size()
             ? ""
             : stat.substr(name_end + 2, 1);
}

std::string waits_before(const fs::path& task) {
  constexpr std::string_view k_name = "voluntary_ctxt_switches:";
  std::ifstream file(task / "status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(k_name))
      return line.substr(k_name.size());
  return "";
}

std::string kernel_frames(const fs::path& task) {
  std::ifstream file(task / "stack");
  std::string frames;
  std::string line;
  for (int i = 0; i < k_kernel_frames && std::getline(file, line); ++i)
    frames += "\n  " + line.substr(std::min(line.size(), line.find("] ") + 2));
  return frames;
}

} // namespace

std::vector<KernelWait> kernel_waits(pid_t pid) {
  std::vector<KernelWait> waits;
  std::error_code error;
  fs::path tasks = fs::path("/proc") / std::to_string(pid) / "task";
  for (fs::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error))
    if (state_in(content(task->path() / "stat")) == "D")
      waits.push_back({std::atoi(task->path().filename().c_str()), waits_before(task->path())});
  return waits;
}

bool is_stuck_in_kernel(pid_t pid) {
  return !kernel_waits(pid).empty();
}

ProcessState look_at_process(pid_t pid) {
  fs::path folder = "/proc/" + std::to_string(pid);
  ProcessState result;
  std::error_code error;
  std::vector<int> threads;
  for (fs::directory_iterator task(folder / "task", error), end; !error && task != end;
       task.increment(error))
    threads.push_back(std::atoi(task->path().filename().c_str()));
  std::ranges::sort(threads,
                    [&](int a, int b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
  if (threads.size() > k_threads)
    threads.resize(k_threads);
  for (int thread : threads) {
    fs::path task = folder / "task" / std::to_string(thread);
    std::string state = state_in(content(task / "stat"));
    if (state.empty())
      continue; // ended meanwhile
    if (result.state.empty() || state == "D")
      result.state = state;
    std::string waits_in = content(task / "wchan");
    result.threads += (result.threads.empty() ? "" : "\n") + content(task / "comm") + " (" + state +
                      ")" + (waits_in.empty() || waits_in == "0" ? "" : " in " + waits_in) +
                      kernel_frames(task);
  }
  return result;
}

} // namespace ncclprobe::launch

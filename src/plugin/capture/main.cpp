// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/capture/limits.h"
#include "plugin/cuda/kernel_recorder.h"
#include "plugin/nvtx/injection.h"
#include "plugin/profiler/tracing.h"

#include "base/printable.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <variant>

// libncclprobe-profiler.so: the profiler plugin for programs that do not use
// ncclprobe (NCCL_PROFILER_PLUGIN=.../libncclprobe-profiler.so). Each process writes a spool to
// NCCLPROBE_CAPTURE_DIR; NCCLPROBE_CAPTURE=operations|kernels|full sets the level of detail;
// limits.h has the variables of limits. NCCLPROBE_CAPTURE_CUDA=1 also records kernels, into a
// second spool. With NCCLPROBE_CAPTURE_QUIET (ncclprobe record), only
// problems are printed.
namespace ncclprobe::plugin {
namespace {

constexpr int k_most_files = 100; // spools of one process number, in one folder

std::string host_name() {
  std::array<char, 64> name{};
  if (gethostname(name.data(), name.size() - 1) != 0)
    return "host";
  std::string host = name.data();
  return host.substr(0, host.find('.'));
}

void say(const std::string& words) {
  const std::string line = "ncclprobe: " + base::escape_unsafe(words) + "\n";
  std::fputs(line.c_str(), stderr); // one write, because several ranks print at once
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

class Capture {
public:
  explicit Capture(int rank) {
    const char* told = std::getenv("NCCLPROBE_CAPTURE_DIR");
    std::string folder = told != nullptr && *told != '\0' ? told : "ncclprobe-capture";
    const char* level = std::getenv("NCCLPROBE_CAPTURE");
    std::string wanted = level == nullptr ? "kernels" : level;
    Detail detail = Detail::channels;
    if (wanted == "operations") {
      detail = Detail::operations;
    } else if (wanted == "full") {
      detail = Detail::steps;
    } else if (wanted != "kernels") {
      say("NCCLPROBE_CAPTURE is " + wanted +
          ": operations, kernels and full are possible; nothing is recorded");
      return;
    }
    const std::variant<Limits, std::string> limits =
        limits_of([](const char* name) -> const char* { return std::getenv(name); });
    if (const auto* wrong = std::get_if<std::string>(&limits)) {
      say(*wrong + "; nothing is recorded");
      return;
    }
    const Limits& within = std::get<Limits>(limits);
    std::error_code problem;
    std::filesystem::path absolute = std::filesystem::absolute(folder, problem);
    std::filesystem::create_directories(absolute, problem);
    std::string stem = (absolute / ("rank-" + std::to_string(rank) + "-" + host_name() + "-" +
                                    std::to_string(getpid())))
                           .string();
    std::string path = stem + ".spool";
    for (int i = 2; !spool_.open(path) && errno == EEXIST && i < k_most_files; ++i)
      path = stem + "-" + std::to_string(i) + ".spool"; // from an earlier process of that number
    if (!spool_.is_open()) {
      say("cannot write " + path + " (" + std::strerror(errno) + "): nothing is recorded");
      return;
    }
    spool_.note(rank, trace::k_level, wanted);
    if (within.last_ns != 0)
      spool_.note(rank, trace::k_kept, "the last " + time_in_words(within.last_ns));
    path.erase(path.rfind('.'));
    Limits own = within;
    std::unique_ptr<KernelRecording> kernels;
    if (is_set("NCCLPROBE_CAPTURE_CUDA")) {
      own.most_bytes /= 2; // for each of both
      kernels = std::make_unique<KernelRecorder>(rank, path + ".cuda.spool", own,
                                                 std::getenv("CUDA_INJECTION64_PATH"), say);
    }
    start_tracing(spool_, detail, GpuClock::estimated, own, path + ".last", std::move(kernels));
    if (rank == 0 && !is_set("NCCLPROBE_CAPTURE_QUIET"))
      say("recording NCCL's operations (" + wanted + ") into " + absolute.string() +
          ", one file per process; view them with ncclprobe report " + absolute.string() + "/");
  }
  ~Capture() { stop_tracing(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

private:
  trace::SpoolWriter spool_;
};

} // namespace

void start_by_itself(int rank) {
  try {
    static Capture capture(rank);           // until the process ends
  } catch (const std::exception& problem) { // no memory, or no thread
    say(std::string(problem.what()) + ": nothing is recorded");
  }
}

} // namespace ncclprobe::plugin

// CUDA calls this when it starts (CUDA_INJECTION64_PATH), before it creates a context. Nothing is
// recorded yet: that begins with the first communicator. The library is the same as the one that
// NCCL loads, so both find the same state.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  try {
    if (ncclprobe::plugin::is_set("NCCLPROBE_CAPTURE_CUDA"))
      ncclprobe::plugin::prepare_kernel_recording();
  } catch (const std::exception&) { // no memory: CUDA starts without
  }
  return 1; // CUDA takes 0 as a failure
}

// NVTX calls this when the program first uses it (NVTX_INJECTION64_PATH), once for each of its
// copies in the process. Ranges that begin once there is a communicator are recorded.
extern "C" [[gnu::visibility("default")]] int
InitializeInjectionNvtx2(ncclprobe::plugin::nvtx::GetExportTable get_export_table) {
  return ncclprobe::plugin::attach_to_nvtx(get_export_table) ? 1 : 0;
}

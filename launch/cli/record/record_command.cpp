// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/record_command.h"

#include "base/exit_code.h"
#include "base/log.h"
#include "base/process_start.h"
#include "base/shell_word.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/record/verify_command.h"
#include "model/trial.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_library = "libncclprobe-profiler.so";
constexpr const char* k_cuda_variable = "CUDA_INJECTION64_PATH";
constexpr const char* k_nvtx_variable = "NVTX_INJECTION64_PATH";
constexpr std::uint64_t k_default_steps = 5, k_default_every = 100; // about 1% on average
constexpr const char* k_plugin_variable = "NCCL_PROFILER_PLUGIN";
constexpr int k_exit_cannot_start = 126; // as env(1), nohup(1) and shells do
constexpr int k_exit_not_found = 127;

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// In the same place in the build tree and in the installed tree.
Result<fs::path> find_library(const fs::path& program_folder) {
  fs::path library = (program_folder / "../lib" / k_library).lexically_normal();
  if (std::error_code ignored; !fs::is_regular_file(library, ignored))
    return fail({Errc::unavailable, fmt::format("{} is missing", library.string()),
                 "install ncclprobe as a whole: lib/ belongs beside bin/"});
  return library;
}

Result<void> check_other_plugin(const Environment& environment) {
  const std::string set = value_of(environment, k_plugin_variable);
  if (!set.empty() && fs::path(set).filename() != k_library)
    return fail(
        {Errc::invalid_argument,
         fmt::format("{} is set to {}, and NCCL loads one plugin only", k_plugin_variable, set),
         fmt::format("unset {}", k_plugin_variable)});
  return {};
}

// The library of another tool that CUDA or NVTX is to load: it stays, and ours does without.
std::string other_injection(const Environment& environment, const char* variable) {
  const std::string set = value_of(environment, variable);
  return fs::path(set).filename() == k_library ? "" : set;
}

struct KernelSteps {
  std::optional<std::uint64_t> steps, every;
};
KernelSteps kernel_steps(const RecordOptions& options) {
  if (options.cuda && !options.steps)
    return {k_default_steps, k_default_every};
  return {options.steps, options.every};
}

// What a user of --cuda has to know.
void say_cuda(const RecordOptions& options, const Environment& environment) {
  const KernelSteps kernels = kernel_steps(options);
  spdlog::info("kernels are recorded too{}; a torch.profiler that starts meanwhile may get nothing",
               kernels.every
                   ? fmt::format(", in {} of every {} steps", *kernels.steps, *kernels.every)
                   : "");
  if (const std::string other = other_injection(environment, k_cuda_variable); !other.empty())
    spdlog::warn("{} is set to {} and stays so: that tool may keep CUPTI for itself",
                 k_cuda_variable, other);
}

void say_nvtx(const Environment& environment) {
  if (const std::string other = other_injection(environment, k_nvtx_variable); !other.empty())
    spdlog::warn("{} is set to {} and stays so: NVTX ranges go to that tool, and phases are not "
                 "recorded",
                 k_nvtx_variable, other);
}

// The library by its name alone, because NCCL 2.27 loads no path. The search path gets a folder
// that holds nothing else, at its end, so that all other libraries are found where they were.
std::vector<model::Setting> variables(const RecordOptions& options, const Environment& environment,
                                      const fs::path& folder) {
  const std::string search = value_of(environment, "LD_LIBRARY_PATH");
  const std::string plugins = plugin_folder(folder).string();
  auto milliseconds = [](std::int64_t ns) { return fmt::format("{}ms", ns / 1'000'000); };
  std::vector<model::Setting> all{
      {k_plugin_variable, k_library},
      {"LD_LIBRARY_PATH", search.empty() ? plugins : search + ":" + plugins},
      {"NCCLPROBE_CAPTURE_DIR", folder.string()},
      {"NCCLPROBE_CAPTURE", level_of(options)},
      {"NCCLPROBE_CAPTURE_MAX_BYTES", fmt::format("{}", options.most_bytes)}};
  if (options.for_ns)
    all.push_back({"NCCLPROBE_CAPTURE_FOR", milliseconds(*options.for_ns)});
  if (options.last_ns)
    all.push_back({"NCCLPROBE_CAPTURE_LAST", milliseconds(*options.last_ns)});
  const KernelSteps kernels = kernel_steps(options);
  if (kernels.steps)
    all.push_back({"NCCLPROBE_CAPTURE_STEPS", fmt::format("{}", *kernels.steps)});
  if (kernels.every)
    all.push_back({"NCCLPROBE_CAPTURE_EVERY", fmt::format("{}", *kernels.every)});
  auto inject = [&](const char* variable) {
    if (other_injection(environment, variable).empty())
      all.push_back({variable, (plugin_folder(folder) / k_library).string()});
  };
  if (!options.verify)
    inject(k_nvtx_variable);
  if (options.cuda) {
    all.push_back({"NCCLPROBE_CAPTURE_CUDA", "1"});
    inject(k_cuda_variable);
  }
  return all;
}

constexpr std::array k_rank_variables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID", "RANK"};

// Of several ranks, one speaks.
bool speaks(const Environment& environment) {
  return std::ranges::all_of(k_rank_variables, [&](const char* name) {
    const std::string rank = value_of(environment, name);
    return rank.empty() || rank == "0";
  });
}

// Returns only if the command cannot be started.
int become(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  base::restore_signals();
  execvp(words.front(), words.data());
  const int problem = errno;
  spdlog::error("cannot start {}: {}", command.front(), std::strerror(problem));
  return problem == ENOENT ? k_exit_not_found : k_exit_cannot_start;
}

// Sets the variables that make NCCL record into the folder.
void set_variables(const std::vector<model::Setting>& all) {
  for (const char* name :
       {"NCCLPROBE_CAPTURE_FOR", "NCCLPROBE_CAPTURE_LAST", "NCCLPROBE_CAPTURE_STEPS",
        "NCCLPROBE_CAPTURE_EVERY", "NCCLPROBE_CAPTURE_CUDA"})
    ::unsetenv(name); // of an earlier recording
  for (const model::Setting& one : all)
    ::setenv(one.name.c_str(), one.value.c_str(), 1);
}

// It starts whole jobs, so it cannot be one rank of a job itself.
int verify(const RecordOptions& options, const Environment& environment, const fs::path& library) {
  for (const char* name : k_rank_variables)
    if (!value_of(environment, name).empty())
      return give_up(
          {Errc::invalid_argument,
           fmt::format("--verify starts whole jobs, and {} says that this is one rank", name),
           "write the launcher after --: ncclprobe record --verify tuned/ -- mpirun ..."});
  auto prepare = [&](const fs::path& folder) -> Result<void> {
    NCCLPROBE_TRY(
        make_capture_folder(folder, job_place(environment, {}), library, options.overwrite));
    return {};
  };
  auto become_recorded = [&](const fs::path& folder, std::vector<std::string> command) {
    std::error_code ignored;
    set_variables(variables(options, environment, fs::absolute(folder, ignored)));
    ::setenv("NCCLPROBE_CAPTURE_QUIET", "1", 1);
    return become(std::move(command));
  };
  return verify_command(options, prepare, become_recorded);
}

} // namespace

int record_command(const fs::path& program_folder, const Environment& environment,
                   const RecordOptions& options) {
  const auto library = find_library(program_folder);
  if (!library)
    return give_up(library.error());
  if (const auto alone = check_other_plugin(environment); !alone)
    return give_up(alone.error());
  if (options.verify)
    return verify(options, environment, *library);
  const auto folder = make_capture_folder(options.folder, job_place(environment, options.command),
                                          *library, options.overwrite);
  if (!folder)
    return give_up(folder.error());
  const std::vector<model::Setting> all = variables(options, environment, *folder);
  set_variables(all);
  std::string exports;
  for (const model::Setting& one : all)
    exports += fmt::format("export {}={}\n", one.name, base::shell_word(one.value));
  if (options.print_environment)
    return show(exports, base::k_exit_ok);
  ::setenv("NCCLPROBE_CAPTURE_QUIET", "1", 1); // this says it for the plugin
  if (speaks(environment)) {
    spdlog::info("recording NCCL's operations ({}) into {}; view them with ncclprobe report {}/",
                 level_of(options), folder->string(), base::shell_word(folder->string()));
    if (options.cuda)
      say_cuda(options, environment);
    say_nvtx(environment);
  }
  return become(options.command);
}

} // namespace ncclprobe::cli

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/verify_command.h"

#include "analysis/job/usual_step.h"
#include "analysis/promise/promise.h"
#include "analysis/report_value/report_writers.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/text_files.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/result_folder.h"
#include "launch/cli/files/chosen_trace.h"
#include "launch/cli/files/trace_source.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::PromiseRun, analysis::PromiseVerdict;

constexpr const char* k_settings_file = "settings.sh";
constexpr const char* k_result_file = "verify.json";
// A shell reads the settings as users do, with what they unset.
constexpr const char* k_with_settings = R"(. "$0"; exec "$@")";

Result<std::optional<analysis::job::UsualStep>> step_of(const fs::path& folder) {
  NCCLPROBE_TRY_ASSIGN(const ChosenTrace chosen, choose_trace(folder, std::nullopt));
  NCCLPROBE_TRY_ASSIGN(const auto source, trace_source(chosen.file, nullptr));
  NCCLPROBE_TRY_ASSIGN(const auto found, analysis::job::find_steps(source));
  return usual_step(source, found);
}

class Verifying {
public:
  Verifying(const RecordOptions& options, const PrepareFolder& prepare,
            const BecomeRecorded& become, fs::path settings, analysis::Promise promise)
      : options_(options), prepare_(prepare), become_(become), settings_(std::move(settings)) {
    all_.settings = settings_.string();
    all_.promise = promise;
  }

  // Exit code of a run that the search for a verdict cannot survive; 0: all were made.
  Result<int> run_all() {
    for (int pair = 1; pair <= options_.repeats; ++pair)
      for (const bool second : {false, true}) {
        const bool with_settings = second == (pair % 2 == 1); // which comes first changes
        NCCLPROBE_TRY_ASSIGN(const int code, run(pair, with_settings));
        if (code != 0 && !with_settings)
          return code;
        if (code != 0)
          return 0;
      }
    return 0;
  }
  const analysis::Verification& all() const { return all_; }

private:
  Result<int> run(int pair, bool with_settings) {
    PromiseRun one{.pair = pair, .with_settings = with_settings};
    const fs::path folder =
        options_.folder / fmt::format("{}-{}", pair, with_settings ? "with" : "without");
    one.folder = folder.string();
    NCCLPROBE_TRY(prepare_(folder));
    spdlog::info("run {} of {}: {} {}", all_.runs.size() + 1, 2 * options_.repeats,
                 with_settings ? "with" : "without", all_.settings);
    NCCLPROBE_TRY_ASSIGN(const int code, code_of_job(folder, with_settings));
    if (code != 0) {
      one.failed = true;
      one.problem = code > 128 ? fmt::format("signal {} ended the job", code - 128)
                               : fmt::format("the job ended with {}", code);
    } else {
      measure(folder, one);
    }
    all_.runs.push_back(std::move(one));
    return code;
  }

  // As a shell's $?.
  Result<int> code_of_job(const fs::path& folder, bool with_settings) {
    const pid_t job = ::fork();
    if (job < 0)
      return fail(Errc::failed, "cannot start a process: {}", std::strerror(errno));
    if (job == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      std::vector<std::string> command = options_.command;
      if (with_settings)
        command.insert(command.begin(), {"sh", "-c", k_with_settings, settings_.string()});
      ::_exit(become_(folder, std::move(command)));
    }
    int status = 0;
    while (::waitpid(job, &status, 0) < 0)
      if (errno != EINTR)
        return fail(Errc::failed, "cannot wait for the job: {}", std::strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void measure(const fs::path& folder, PromiseRun& one) {
    const auto step = step_of(folder);
    if (!step) {
      one.problem = step.error().message;
    } else if (!*step || (*step)->step_ns <= 0) {
      one.problem = "no steps were found";
    } else if (!kind_.empty() && kind_ != (*step)->kind) {
      one.problem = "its steps have other operations than those of the first run";
    } else if (!kind_.empty() && on_gpu_ != (*step)->on_gpu) {
      one.problem = on_gpu_ ? "the GPU's times were not recorded, unlike in the first run"
                            : "it has the GPU's times, and the first run has those of the host";
    } else {
      kind_ = (*step)->kind;
      on_gpu_ = (*step)->on_gpu;
      one.steps = (*step)->steps;
      one.step_ns = (*step)->step_ns;
    }
  }

  const RecordOptions& options_;
  const PrepareFolder& prepare_;
  const BecomeRecorded& become_;
  const fs::path settings_;
  std::string kind_;    // of steps, of the first run that has some
  bool on_gpu_ = false; // as that run's times
  analysis::Verification all_;
};

int exit_code_of(PromiseVerdict verdict) {
  switch (verdict) {
  case PromiseVerdict::kept:
    return base::k_exit_ok;
  case PromiseVerdict::undecided:
  case PromiseVerdict::too_few:
    return base::k_exit_undecided;
  default:
    return base::k_exit_regression;
  }
}

} // namespace

int verify_command(const RecordOptions& options, const PrepareFolder& prepare,
                   const BecomeRecorded& become) {
  std::error_code trouble;
  const fs::path settings = fs::absolute(*options.verify / k_settings_file, trouble);
  const std::string text = base::text_of(settings);
  if (text.empty())
    return give_up({Errc::invalid_argument, fmt::format("{} cannot be read", settings.string()),
                    "give a folder that ncclprobe tune wrote, with a recommendation"});
  auto promise = analysis::promise_of(text);
  if (!promise) {
    promise.error().message = fmt::format("{}: {}", settings.string(), promise.error().message);
    return give_up(promise.error());
  }
  if (const auto made = make_folder(options.folder); !made)
    return give_up(made.error());
  const base::Destination result{options.folder / k_result_file, options.overwrite};
  if (const auto possible = check_destination(result); !possible)
    return give_up(possible.error());
  Verifying verifying(options, prepare, become, settings, *promise);
  const auto ended = verifying.run_all();
  if (!ended)
    return give_up(ended.error());
  if (*ended != 0) {
    spdlog::error("the job fails without the settings: {}; nothing can be compared with it",
                  verifying.all().runs.back().problem);
    return base::k_exit_nothing;
  }
  const analysis::Report report = promise_report(verifying.all());
  const int code = exit_code_of(verdict_of(verifying.all()));
  if (const int written = deliver(report, analysis::Format::json, result, base::k_exit_ok);
      written != base::k_exit_ok)
    return written;
  return deliver(report, analysis::Format::table, {}, code);
}

} // namespace ncclprobe::cli

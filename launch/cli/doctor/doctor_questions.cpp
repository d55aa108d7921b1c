// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_questions.h"

#include "analysis/binary/code_fit.h"
#include "analysis/diagnosis/log_report.h"
#include "analysis/diagnosis/log_scanner.h"
#include "analysis/suitability/common_stack.h"
#include "analysis/suitability/policy.h"
#include "analysis/suitability/suitability.h"
#include "analysis/suitability/wheel_question.h"
#include "base/exit_code.h"
#include "base/fd.h"
#include "base/mapped_file.h"
#include "base/shell_word.h"
#include "launch/cli/common/file_kind.h"
#include "launch/cli/doctor/nodes_asked_for.h"
#include "launch/cli/doctor/policy_file.h"
#include "store/run_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

constexpr std::size_t k_piece_bytes = 1 << 20;
constexpr std::size_t k_most_line_bytes = std::size_t{256} << 20;

int exit_code_of(knowledge::CauseSeverity severity) {
  return severity == knowledge::CauseSeverity::fail   ? base::k_exit_failures
         : severity == knowledge::CauseSeverity::warn ? base::k_exit_warnings
                                                      : base::k_exit_ok;
}

// A device gives bytes without end, and none of them is a log's.
Result<void> check_that_it_ends(int fd, const std::string& name) {
  struct stat about {};
  if (::fstat(fd, &about) != 0)
    return base::fail(base::Errc::io, "cannot look at {}: {}", name, std::strerror(errno));
  const bool is_null = S_ISCHR(about.st_mode) && about.st_rdev == ::makedev(1, 3); // /dev/null
  if (S_ISBLK(about.st_mode) || (S_ISCHR(about.st_mode) && !is_null && ::isatty(fd) == 0))
    return base::fail(base::Error{base::Errc::invalid_argument, name + " is a device, not a log",
                                  "give the file of a log, or - for standard input"});
  return {};
}

// Past what was never written to the file: of a log that was cut while it was written that can be
// much. False: nothing more.
bool skip_hole(int fd) {
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  if (at < 0)
    return true; // a pipe
  const off_t data = ::lseek(fd, at, SEEK_DATA);
  if (data < 0)
    return errno != ENXIO;
  return true;
}

Result<void> read_all(int fd, const std::string& name, analysis::LogScanner& scanner) {
  NCCLPROBE_TRY(check_that_it_ends(fd, name));
  std::string piece(k_piece_bytes, '\0');
  std::size_t line_bytes = 0; // since a line ended
  while (skip_hole(fd)) {
    ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got == 0)
      return {};
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return base::fail(base::Errc::io, "cannot read {}: {}", name, std::strerror(errno));
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = bytes.rfind('\n');
    line_bytes = end == bytes.npos ? line_bytes + bytes.size() : bytes.size() - end - 1;
    if (line_bytes > k_most_line_bytes)
      return base::fail(base::Errc::invalid_argument,
                        "{} has a line of more than {} MiB, so it is not a log", name,
                        k_most_line_bytes >> 20);
    scanner.feed(bytes);
  }
  return {};
}

// A run keeps the last output of workers whose trials went wrong.
Result<void> read_outputs(const std::string& run_file, analysis::LogScanner& scanner) {
  NCCLPROBE_TRY_ASSIGN(const model::Run run, store::read_run(run_file, store::Rows::drop));
  bool any = false;
  for (const model::TrialRecord& trial : run.trials)
    for (const model::WorkerRecord& worker : trial.workers)
      if (!worker.output_tail.empty()) {
        any = true;
        scanner.feed(worker.output_tail + "\n");
      }
  if (!any)
    return base::fail(
        base::Error{base::Errc::not_found, run_file + " holds no worker output: no trial failed",
                    fmt::format("`ncclprobe report {}` shows it", base::shell_word(run_file))});
  return {};
}

// A log's findings, which its diagnosis points into.
struct DiagnosedLog {
  analysis::LogFindings findings;
  analysis::LogDiagnosis diagnosis;
};

Result<DoctorAnswer> diagnose_log(const std::string& path) {
  analysis::LogPatterns patterns;
  analysis::LogScanner scanner(patterns);
  std::string name = path == "-" ? "standard input" : path;
  std::error_code ignored;
  base::Fd file;
  // Looking into a pipe would take from it.
  if (std::filesystem::is_regular_file(path, ignored) && kind_of_file(path) == InputKind::run) {
    NCCLPROBE_TRY(read_outputs(path, scanner));
  } else if (path != "-") {
    file = base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
      return base::fail(base::Error{errno == ENOENT ? base::Errc::not_found : base::Errc::io,
                                    fmt::format("cannot open {}: {}", path, std::strerror(errno)),
                                    "give the file of a log, or - for standard input"});
  }
  if (file || path == "-")
    NCCLPROBE_TRY(read_all(path == "-" ? STDIN_FILENO : file.get(), name, scanner));
  const auto log = std::make_shared<DiagnosedLog>();
  log->findings = scanner.finish();
  log->diagnosis = analysis::diagnose(log->findings);
  DoctorAnswer answer{analysis::log_report(name, log->findings, log->diagnosis),
                      exit_code_of(log->diagnosis.severity)};
  answer.report.figures.push_back(log);
  return answer;
}

// GPUs that are not known do not cost the answer for the others, but are named behind it.
void add_unknown(const AskedFor& asked, DoctorAnswer& answer) {
  if (asked.unknown.empty())
    return;
  analysis::List unknown;
  for (const base::Error& error : asked.unknown) {
    answer.report.sections.push_back({"unknown"});
    answer.report.sections.back().add("Not known", error.text(), 15);
    unknown.push_back(analysis::Object{{"message", error.message}, {"hint", error.hint}});
  }
  answer.report.data.emplace_back("unknown", std::move(unknown));
  if (answer.exit_code == base::k_exit_ok)
    answer.exit_code = base::k_exit_warnings;
}

Result<DoctorAnswer> list_code(const World& world, const DoctorQuestions& questions) {
  NCCLPROBE_TRY_ASSIGN(base::MappedFile file, base::MappedFile::open(questions.binary));
  Result<analysis::DeviceCode> code = analysis::read_device_code(file.bytes());
  if (!code)
    return base::with_context(std::move(code.error()), questions.binary);
  std::vector<analysis::GpuToServe> gpus;
  auto asked = nodes_asked_for(world, questions);
  // Without a GPU here the list is an answer all the same.
  if (!asked && asked.error().code != base::Errc::unavailable)
    return base::fail(std::move(asked.error()));
  if (asked)
    for (const analysis::NodeInQuestion& node : asked->nodes)
      for (const analysis::GpuInQuestion& one : node.gpus)
        gpus.push_back(
            {one.name, one.capability, node.software.driver_cuda, analysis::cpu_of(one)});
  auto verdicts = analysis::judge_device_code(*code, gpus);
  DoctorAnswer answer{analysis::device_code_report(questions.binary, *code, verdicts)};
  if (!code->problems.empty())
    answer.exit_code = base::k_exit_warnings;
  for (const analysis::GpuVerdict& one : verdicts)
    if (one.runs == analysis::GpuVerdict::Runs::no)
      answer.exit_code = base::k_exit_failures;
  if (asked)
    add_unknown(*asked, answer);
  return answer;
}

int exit_code_of(analysis::Known suits) {
  return suits == analysis::Known::yes  ? base::k_exit_ok
         : suits == analysis::Known::no ? base::k_exit_failures
                                        : base::k_exit_warnings;
}

// Equal GPUs of several nodes are explained once, with the software of the first that has them.
Result<DoctorAnswer> explain(const World& world, const DoctorQuestions& questions) {
  std::optional<analysis::Policy> policy;
  if (!questions.policy.empty()) {
    NCCLPROBE_TRY_ASSIGN(policy, read_policy(questions.policy));
  }
  NCCLPROBE_TRY_ASSIGN(const AskedFor asked, nodes_asked_for(world, questions));
  const auto& nodes = asked.nodes;
  std::vector<analysis::GpuWithSoftware> gpus;
  for (const analysis::NodeInQuestion& node : nodes)
    for (const analysis::GpuInQuestion& gpu : node.gpus)
      if (std::none_of(gpus.begin(), gpus.end(), [&](const auto& other) {
            return other.gpu.name == gpu.name && other.gpu.nvlinks == gpu.nvlinks;
          }))
        gpus.push_back({gpu, node.software});
  std::vector<std::string> names;
  for (const analysis::GpuWithSoftware& one : gpus)
    names.push_back(one.gpu.name);
  if (auto in_vain = analysis::priced_in_vain(questions.prices, names); !in_vain.empty())
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("--price {}: the GPUs in question are {}",
                                              fmt::join(in_vain, ", "), fmt::join(names, ", ")),
                                  "give the price of one of these, or --price VALUE for all"});
  DoctorAnswer answer{analysis::gpu_report(gpus, questions.prices)};
  if (nodes.size() > 1)
    append(answer.report, analysis::common_stack_report(analysis::common_stack(nodes)));
  if (policy) {
    std::vector<analysis::PolicyVerdict> verdicts;
    for (const analysis::NodeInQuestion& node : nodes)
      verdicts.push_back(analysis::judge(*policy, node, questions.prices));
    analysis::Report judged = analysis::policy_report(*policy, verdicts);
    answer.report.rows = judged.rows;
    append(answer.report, std::move(judged));
    answer.exit_code = exit_code_of(analysis::worst(verdicts));
  }
  add_unknown(asked, answer);
  return answer;
}

Result<DoctorAnswer> judge_wheel(const World& world, const DoctorQuestions& questions) {
  NCCLPROBE_TRY_ASSIGN(const analysis::WheelSpec wheel,
                       analysis::parse_wheel_spec(questions.wheel));
  NCCLPROBE_TRY_ASSIGN(const AskedFor asked, nodes_asked_for(world, questions));
  const auto verdicts = analysis::judge_wheel(wheel, asked.nodes);
  DoctorAnswer answer{analysis::wheel_report(wheel, verdicts),
                      exit_code_of(analysis::worst(verdicts))};
  add_unknown(asked, answer);
  return answer;
}

} // namespace

Result<DoctorAnswer> answer_question(const World& world, const DoctorQuestions& questions) {
  if (!questions.log.empty())
    return diagnose_log(questions.log);
  if (!questions.binary.empty())
    return list_code(world, questions);
  if (!questions.wheel.empty())
    return judge_wheel(world, questions);
  return explain(world, questions);
}

} // namespace ncclprobe::cli

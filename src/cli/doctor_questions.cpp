// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_questions.h"

#include "analysis/binary/code_fit.h"
#include "analysis/binary/mapped_file.h"
#include "analysis/diagnosis/log_report.h"
#include "analysis/diagnosis/log_scanner.h"
#include "analysis/suitability.h"
#include "base/exit_code.h"
#include "base/fd.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

using base::Result;

constexpr std::size_t k_piece_bytes = 1 << 20;
constexpr std::chrono::seconds k_inventory_patience{120}; // a cold driver can take a minute

int exit_code_of(knowledge::Severity severity) {
  return severity == knowledge::Severity::fail   ? base::k_exit_failures
         : severity == knowledge::Severity::warn ? base::k_exit_warnings
                                                 : base::k_exit_ok;
}

Result<void> read_all(int fd, const std::string& name, analysis::LogScanner& scanner) {
  std::string piece(k_piece_bytes, '\0');
  while (true) {
    ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got == 0)
      return {};
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return base::fail(base::Errc::io, "cannot read {}: {}", name, std::strerror(errno));
    scanner.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
}

Result<DoctorAnswer> diagnose_log(const std::string& path, AnswerFormat format) {
  analysis::LogPatterns patterns;
  analysis::LogScanner scanner(patterns);
  std::string name = path == "-" ? "standard input" : path;
  base::Fd file;
  if (path != "-") {
    file = base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
      return base::fail(base::Error{errno == ENOENT ? base::Errc::not_found : base::Errc::io,
                                    fmt::format("cannot open {}: {}", path, std::strerror(errno)),
                                    "give the file of a log, or - for standard input"});
  }
  NCCLPROBE_TRY(read_all(path == "-" ? STDIN_FILENO : file.get(), name, scanner));
  analysis::LogFindings findings = scanner.finish();
  analysis::LogDiagnosis diagnosis = analysis::diagnose(findings);
  std::string text = format == AnswerFormat::json
                         ? analysis::render_log_diagnosis_json(name, findings, diagnosis)
                         : analysis::render_log_diagnosis(name, findings, diagnosis);
  return DoctorAnswer{std::move(text), exit_code_of(diagnosis.severity)};
}

Result<model::Host> this_host(const World& world) {
  launch::WorkerProgram worker;
  worker.path = world.program_folder / "ncclprobe-worker";
  worker.environment = world.environment;
  Result<model::Host> host = launch::take_inventory(worker, k_inventory_patience);
  if (host && host->gpus.empty())
    return base::fail(
        base::Error{base::Errc::unavailable,
                    "this host has no usable GPU" +
                        (host->nvidia_problem.empty() ? "" : ": " + host->nvidia_problem),
                    "name one with --gpu, such as --gpu T4 or --gpu sm_90"});
  return host;
}

std::optional<knowledge::VersionNumber> version_of(const model::Host& host,
                                                   std::string_view library) {
  const model::Library* found = host.library(library);
  if (found == nullptr)
    return std::nullopt;
  // "580.159.04 (CUDA 13.0)": what is asked for is CUDA's.
  std::string_view text = found->version;
  if (std::size_t cuda = text.find("CUDA "); cuda != std::string_view::npos)
    text.remove_prefix(cuda + 5);
  auto version = knowledge::parse_version(text);
  return version ? std::optional(*version) : std::nullopt;
}

struct Asked {
  std::vector<analysis::GpuInQuestion> gpus; // equal ones once
  analysis::SoftwareInQuestion software;
};

Result<Asked> asked_for(const World& world, const std::vector<std::string>& names) {
  Asked asked;
  for (const std::string& name : names) {
    NCCLPROBE_TRY_ASSIGN(analysis::GpuInQuestion gpu, analysis::gpu_in_question(name));
    asked.gpus.push_back(std::move(gpu));
  }
  if (!names.empty())
    return asked;
  NCCLPROBE_TRY_ASSIGN(model::Host host, this_host(world));
  asked.software = {version_of(host, "cuda_driver"), version_of(host, "cuda_runtime"),
                    version_of(host, "nccl")};
  for (const model::Gpu& one : host.gpus) {
    auto same = std::find_if(asked.gpus.begin(), asked.gpus.end(), [&](const auto& gpu) {
      return gpu.name == one.name && gpu.nvlinks == one.nvlinks;
    });
    if (same != asked.gpus.end()) {
      ++same->count;
      continue;
    }
    NCCLPROBE_TRY_ASSIGN(knowledge::ComputeCapability capability,
                         knowledge::parse_compute_capability(one.compute_capability));
    asked.gpus.push_back({one.name, capability, knowledge::find_gpu_models(one.name),
                          static_cast<double>(one.memory_bytes) / 1e9, one.nvlinks, 1});
  }
  return asked;
}

Result<DoctorAnswer> list_code(const World& world, const DoctorQuestions& questions,
                               AnswerFormat format) {
  NCCLPROBE_TRY_ASSIGN(analysis::MappedFile file, analysis::MappedFile::open(questions.binary));
  Result<analysis::DeviceCode> code = analysis::read_device_code(file.bytes());
  if (!code)
    return base::with_context(std::move(code.error()), questions.binary);
  std::vector<analysis::GpuToServe> gpus;
  Result<Asked> asked = asked_for(world, questions.gpus);
  // Without a GPU here the list is an answer all the same.
  if (!asked && (!questions.gpus.empty() || asked.error().code != base::Errc::unavailable))
    return base::fail(std::move(asked.error()));
  if (asked)
    for (const analysis::GpuInQuestion& one : asked->gpus)
      gpus.push_back({one.name, one.capability, asked->software.driver_cuda});
  auto verdicts = analysis::judge_device_code(*code, gpus);
  DoctorAnswer answer;
  answer.text = format == AnswerFormat::json
                    ? analysis::render_device_code_json(questions.binary, *code, verdicts)
                    : analysis::render_device_code(questions.binary, *code, verdicts);
  if (!code->problems.empty())
    answer.exit_code = base::k_exit_warnings;
  for (const analysis::GpuVerdict& one : verdicts)
    if (one.runs == analysis::GpuVerdict::Runs::no)
      answer.exit_code = base::k_exit_failures;
  return answer;
}

Result<DoctorAnswer> explain(const World& world, const DoctorQuestions& questions,
                             AnswerFormat format) {
  NCCLPROBE_TRY_ASSIGN(Asked asked, asked_for(world, questions.gpus));
  if (format == AnswerFormat::json)
    return DoctorAnswer{analysis::explain_gpus_json(asked.gpus, asked.software, questions.prices),
                        base::k_exit_ok};
  DoctorAnswer answer;
  for (const analysis::GpuInQuestion& one : asked.gpus)
    answer.text += (answer.text.empty() ? "" : "\n") +
                   analysis::explain_gpu(one, asked.software, questions.prices);
  return answer;
}

} // namespace

Result<DoctorAnswer> answer_question(const World& world, const DoctorQuestions& questions,
                                     AnswerFormat format) {
  if (!questions.log.empty())
    return diagnose_log(questions.log, format);
  if (!questions.binary.empty())
    return list_code(world, questions, format);
  return explain(world, questions, format);
}

} // namespace ncclprobe::cli

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D04, D05: driver against runtime, and the GPUs against the code that was built for them.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "knowledge/compatibility.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

using knowledge::CodeTarget;
using knowledge::VersionNumber;

std::string text_of(const std::optional<VersionNumber>& version) {
  return version ? version->text() : "unknown";
}

bool loads_compat_package(const model::Survey& survey) {
  return std::any_of(survey.process.libraries.begin(), survey.process.libraries.end(),
                     [](const model::MappedLibrary& library) {
                       return library.soname.starts_with("libcuda.so") &&
                              library.path.find("/compat/") != std::string::npos;
                     });
}

void check_driver_fit(const model::Survey& survey, Findings& into) {
  const model::Library* runtime = survey.inventory.library("cuda_runtime");
  auto driver = knowledge::parse_version(driver_version(survey));
  auto cuda = knowledge::parse_version(runtime == nullptr ? "" : runtime->version);
  if (survey.inventory.gpus.empty())
    return;
  if (!driver || !cuda) {
    into.add(survey, {"D04",
                      Severity::unknown,
                      "the versions of driver and runtime are not known",
                      {},
                      "",
                      "nvidia-smi",
                      {},
                      {}});
    return;
  }
  knowledge::DriverFit fit =
      knowledge::judge_driver(*driver, *cuda,
                              loads_compat_package(survey) ? knowledge::LoadedDriver::compat_package
                                                           : knowledge::LoadedDriver::system);
  std::vector<std::string> seen{
      fmt::format("driver {} (knows CUDA up to {}), runtime CUDA {} at {}", driver->text(),
                  driver_cuda_version(survey), cuda->text(), runtime->path),
      fmt::format("all features from driver {}, runs at all from {}", text_of(fit.full),
                  text_of(fit.least))};
  using enum knowledge::DriverVerdict;
  std::string what = fmt::format("driver against CUDA runtime: {}", to_string(fit.verdict));
  switch (fit.verdict) {
  case full:
    into.add(survey, {"D04", Severity::ok, what, seen, "", "", {}, {}});
    break;
  case minor_compat:
  case forward_compat:
    into.add(survey, {"D04",
                      Severity::warn,
                      what,
                      seen,
                      fit.meaning,
                      fmt::format("update the driver to {} or later", text_of(fit.full)),
                      {},
                      {}});
    break;
  case insufficient:
    into.add(survey,
             {"D04",
              Severity::fail,
              what,
              seen,
              fit.meaning,
              fmt::format("update the driver on the host to {} or later, or take a build for CUDA "
                          "{} or older",
                          text_of(fit.least), driver_cuda_version(survey)),
              {},
              {}});
    break;
  case unknown:
    into.add(survey, {"D04", Severity::unknown, what, seen, "", "", {}, {}});
    break;
  }
}

// "..., architectures 75,80,90+PTX": what nvcc was asked for when the worker was built.
struct Code {
  std::vector<CodeTarget> cubins;
  std::vector<CodeTarget> ptx;
};
Code code_of_worker(const model::Survey& survey) {
  constexpr std::string_view k_mark = "architectures ";
  const std::string& text = survey.inventory.worker_version;
  Code code;
  std::size_t at = text.find(k_mark);
  if (at == std::string::npos)
    return code;
  std::string list = text.substr(at + k_mark.size());
  list = list.substr(0, list.find_first_of(" )\n"));
  for (std::size_t from = 0; from < list.size();) {
    std::size_t comma = std::min(list.find(',', from), list.size());
    std::string word = list.substr(from, comma - from);
    std::size_t plus = word.find("+PTX");
    if (auto target = knowledge::parse_code_target(word.substr(0, plus))) {
      code.cubins.push_back(*target);
      if (plus != std::string::npos)
        code.ptx.push_back(*target);
    }
    from = comma + 1;
  }
  return code;
}

Code code_of_library(const LibraryCode& library) {
  Code code;
  auto read = [](const std::vector<std::string>& names, std::vector<CodeTarget>& targets) {
    for (const std::string& name : names)
      if (auto target = knowledge::parse_code_target(name))
        targets.push_back(*target);
  };
  read(library.cubins, code.cubins);
  read(library.ptx, code.ptx);
  return code;
}

// `who` has this code: "this ncclprobe", a library. `seen`: where that is known from.
void check_code(const model::Survey& survey, const Code& code, const std::string& who,
                const std::string& seen, const std::string& fix, Findings& into) {
  std::set<std::string> capabilities;
  for (const model::Gpu& gpu : survey.inventory.gpus)
    capabilities.insert(gpu.compute_capability);
  for (const std::string& text : capabilities) {
    auto capability = knowledge::parse_compute_capability(text);
    if (!capability || (code.cubins.empty() && code.ptx.empty())) {
      into.add(survey, {"D05",
                        Severity::unknown,
                        fmt::format("which GPU code {} holds is not known", who),
                        {},
                        "",
                        "",
                        {},
                        {}});
      continue;
    }
    knowledge::CodeFit fit = knowledge::judge_code(*capability, code.cubins, code.ptx);
    using enum knowledge::CodeVerdict;
    if (fit.verdict == none)
      into.add(survey, {"D05",
                        Severity::fail,
                        fmt::format("{} has no code for compute capability {}", who, text),
                        {seen},
                        "'no kernel image is available for execution on the device'",
                        fix,
                        {},
                        {}});
    else
      into.add(survey, {"D05",
                        fit.verdict == ptx_jit ? Severity::info : Severity::ok,
                        fmt::format("on compute capability {} {} runs its code for {} ({})", text,
                                    who, fit.via ? fit.via->sm() : "?", to_string(fit.verdict)),
                        {seen},
                        fit.verdict == ptx_jit ? "the driver compiles it at the first start" : "",
                        "",
                        {},
                        {}});
  }
}

std::string list_of(const LibraryCode& library) {
  std::string text = library.path + ":";
  for (const auto* names : {&library.cubins, &library.ptx})
    for (const std::string& name : *names)
      text += " " + name;
  return text;
}

} // namespace

void check_compatibility(const Case& one, Findings& into) {
  for (const model::Survey& survey : one.surveys) {
    check_driver_fit(survey, into);
    check_code(survey, code_of_worker(survey), "this ncclprobe", survey.inventory.worker_version,
               "build with -DNCCLPROBE_CUDA_ARCHS=... for these GPUs", into);
  }
  // All ranks have the same NCCL, or D32 says so.
  for (const LibraryCode& library : one.code)
    for (const model::Survey& survey : one.surveys)
      check_code(
          survey, code_of_library(library), "NCCL's library", list_of(library),
          "take a libnccl that is built for these GPUs: ncclprobe doctor --binary FILE lists "
          "what one holds",
          into);
}

} // namespace ncclprobe::analysis::doctor

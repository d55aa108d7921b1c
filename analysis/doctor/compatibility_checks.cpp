// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D04, D05, D26: driver against runtime, and GPUs against the code that was built for them.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"

#include <algorithm>
#include <functional>
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

// `runtime`: the name that users see.
void judge_runtime(const model::Survey& survey, const char* id, const VersionNumber& driver,
                   const VersionNumber& cuda, const std::string& runtime, const std::string& where,
                   CheckResults& into) {
  const knowledge::DriverAdvice advice =
      knowledge::advise(driver, cuda, software_limits(gpus_in_question(survey)),
                        loads_compat_package(survey) ? knowledge::LoadedDriver::compat_package
                                                     : knowledge::LoadedDriver::system);
  const knowledge::DriverFit& fit = advice.fit;
  std::vector<std::string> seen{
      fmt::format("driver {} (supports CUDA up to {}), runtime CUDA {} at {}", driver.text(),
                  driver_cuda_version(survey), cuda.text(), where),
      fmt::format("all features from driver {}, minimum driver {}", text_of(fit.full),
                  text_of(fit.least))};
  Object values{
      {"runtime", runtime}, {"verdict", to_string(fit.verdict)}, {"newest", advice.newest_text}};
  auto add = [&](CheckStatus status, const Words& cost = {}, const Words& fix = {}) {
    into.add(survey, {id, status,
                      What("driver_support",
                           "driver support for the {runtime}: {verdict}; {newest}", values),
                      seen, cost, fix});
  };
  using enum knowledge::DriverVerdict;
  switch (fit.verdict) {
  case full:
    add(CheckStatus::ok);
    break;
  case minor_compat:
  case forward_compat:
  case insufficient:
    values.emplace_back("meaning", fit.meaning);
    values.emplace_back("remedies", remedies_text(advice));
    add(fit.verdict == insufficient ? CheckStatus::fail : CheckStatus::warn, "{meaning}",
        "{remedies}");
    break;
  case unknown:
    add(CheckStatus::unknown);
    break;
  }
}

void check_driver_fit(const model::Survey& survey, CheckResults& into) {
  const model::Library* runtime = survey.inventory.library("cuda_runtime");
  auto driver = knowledge::parse_version(driver_version(survey));
  auto cuda = knowledge::parse_version(runtime == nullptr ? "" : runtime->version);
  if (survey.inventory.gpus.empty())
    return;
  if (!driver || !cuda) {
    into.add(survey, {"D04",
                      CheckStatus::unknown,
                      {"versions_unknown", "the versions of driver and runtime are unknown"},
                      {},
                      "",
                      "nvidia-smi"});
    return;
  }
  judge_runtime(survey, "D04", *driver, *cuda, "CUDA runtime", runtime->path, into);
}

// "..., architectures 75,80,90+PTX": nvcc's targets when the worker was built.
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

// What to do if nothing runs.
using Remedy =
    std::function<std::string(const knowledge::ComputeCapability& gpu, knowledge::Misfit misfit)>;

// `who` has this code: "this ncclprobe", a library. `seen`: the source of that knowledge.
void check_code(const model::Survey& survey, const char* id, const Code& code,
                const std::string& who, const std::string& seen, const Remedy& remedy,
                CheckResults& into) {
  std::set<std::string> capabilities;
  for (const model::CudaDevice& gpu : survey.inventory.gpus)
    capabilities.insert(gpu.compute_capability);
  for (const std::string& text : capabilities) {
    auto capability = knowledge::parse_compute_capability(text);
    if (!capability || (code.cubins.empty() && code.ptx.empty())) {
      into.add(survey, {id, CheckStatus::unknown,
                        What("code_unknown", "the GPU code in {who} is unknown", {{"who", who}})});
      continue;
    }
    knowledge::CodeFit fit = knowledge::judge_code(*capability, code.cubins, code.ptx);
    using enum knowledge::CodeVerdict;
    if (fit.verdict == none) {
      auto misfit = knowledge::why_no_code(*capability, code.cubins, code.ptx);
      into.add(survey,
               {id,
                CheckStatus::fail,
                What("no_code", "{who} has no code for compute capability {capability}: {misfit}",
                     {{"who", who},
                      {"capability", text},
                      {"misfit", knowledge::misfit_text(misfit)},
                      {"remedy", remedy(*capability, misfit)}}),
                {seen},
                "'no kernel image is available for execution on the device'",
                "{remedy}"});
    } else {
      into.add(survey,
               {id,
                fit.verdict == ptx_jit ? CheckStatus::info : CheckStatus::ok,
                What("code_runs",
                     "on compute capability {capability} {who} runs its code for {sm} ({verdict})",
                     {{"capability", text},
                      {"who", who},
                      {"sm", fit.via ? fit.via->sm() : "?"},
                      {"verdict", to_string(fit.verdict)}}),
                {seen},
                fit.verdict == ptx_jit ? "the driver compiles it at the first start" : ""});
    }
  }
}

// nvcc writes architectures without the dot.
std::string remedy_of_worker(const knowledge::ComputeCapability& gpu, knowledge::Misfit misfit) {
  return fmt::format("use {}; to build ncclprobe for it: -DNCCLPROBE_CUDA_ARCHS={}{}",
                     knowledge::build_for(gpu, misfit), gpu.major, gpu.minor);
}

std::string remedy_of_nccl(const knowledge::ComputeCapability& gpu, knowledge::Misfit misfit) {
  return fmt::format("use {}; ncclprobe doctor --binary FILE lists the GPU code of a libnccl",
                     knowledge::build_for(gpu, misfit));
}

Remedy remedy_of_torch(knowledge::CpuKind cpu) {
  return [cpu](const knowledge::ComputeCapability& gpu, knowledge::Misfit misfit) {
    const std::string wheels = knowledge::wheels_for(gpu, misfit, cpu);
    return wheels.empty() ? fmt::format("use {}", knowledge::build_for(gpu, misfit)) : wheels;
  };
}

// Arm if one of the host's GPUs comes only with an Arm CPU.
knowledge::CpuKind cpu_of(const std::vector<GpuInQuestion>& gpus) {
  return gpus.empty() ? knowledge::CpuKind::x86_64 : analysis::cpu_of(gpus.front());
}

// PyTorch's own list, else our table of official wheels.
Code code_of_torch(const PythonTorch& torch, knowledge::CpuKind cpu, std::string& source) {
  Code code;
  for (const std::string& name : torch.architectures)
    if (auto target = knowledge::parse_code_target(name))
      (name.starts_with("compute") ? code.ptx : code.cubins).push_back(*target);
  source = "its own list";
  if (!code.cubins.empty() || !code.ptx.empty())
    return code;
  std::size_t plus = torch.torch.find('+');
  source = "it does not say";
  if (plus == std::string::npos)
    return code;
  auto version = knowledge::parse_version(torch.torch.substr(0, plus));
  const knowledge::PytorchWheel* wheel =
      version ? knowledge::pytorch_wheel(*version, torch.torch.substr(plus + 1), cpu) : nullptr;
  if (wheel == nullptr)
    return code;
  source = "our table of official wheels";
  return {wheel->cubins, wheel->ptx};
}

void check_torch(const model::Survey& survey, const PythonTorch& torch, CheckResults& into) {
  auto add = [&](CheckStatus status, What what, std::vector<std::string> seen, const Words& cost,
                 const Words& fix) {
    into.add_host(survey, {"D26", status, std::move(what), std::move(seen), cost, fix});
  };
  if (!torch.problem.empty()) {
    add(CheckStatus::fail,
        {"torch_not_loadable",
         "{interpreter} cannot load PyTorch",
         {{"interpreter", torch.interpreter}}},
        {torch.problem}, "programs that run with this interpreter have no PyTorch",
        "name the interpreter of the right environment: --python PATH");
    return;
  }
  std::string name = "PyTorch " + torch.torch;
  std::string where = fmt::format("{} (Python {}), CUDA {}, NCCL {}", torch.path, torch.python,
                                  torch.cuda.empty() ? "none" : torch.cuda,
                                  torch.nccl.empty() ? "unknown" : torch.nccl);
  bool gpus = !survey.inventory.gpus.empty();
  auto cuda = knowledge::parse_version(torch.cuda);
  if (!cuda) {
    add(gpus ? CheckStatus::fail : CheckStatus::info,
        {"torch_without_cuda", "{torch} is built without CUDA", {{"torch", name}}}, {where},
        gpus ? "it cannot use the GPUs of this host" : "",
        gpus ? "install a wheel with a CUDA tag (cu...) from PyTorch's own index" : "");
    return;
  }
  if (!gpus) {
    add(CheckStatus::info,
        {"torch_without_gpu",
         "{torch} is built for CUDA, but no GPU is visible here",
         {{"torch", name}}},
        {where}, "", "");
    return;
  }
  add(CheckStatus::ok,
      {"torch_cuda", "{torch} for CUDA {cuda}", {{"torch", name}, {"cuda", cuda->text()}}}, {where},
      "", "");
  if (auto driver = knowledge::parse_version(driver_version(survey)))
    judge_runtime(survey, "D26", *driver, *cuda, "PyTorch's CUDA runtime", torch.path, into);
  std::string source;
  const knowledge::CpuKind cpu = cpu_of(gpus_in_question(survey));
  Code code = code_of_torch(torch, cpu, source);
  std::string list = source + ":";
  for (const auto& target : code.cubins)
    list += " " + target.sm();
  for (const auto& target : code.ptx)
    list += " " + target.compute();
  check_code(survey, "D26", code, name, list, remedy_of_torch(cpu), into);
  const model::Library* nccl = survey.inventory.library("nccl");
  auto ours = knowledge::parse_version(nccl == nullptr ? "" : nccl->version);
  auto its = knowledge::parse_version(torch.nccl);
  if (ours && its && *ours != *its)
    add(CheckStatus::info,
        {"torch_other_nccl",
         "PyTorch uses another NCCL than the one measured here",
         {{"torch", its->text()}, {"measured", ours->text()}}},
        {fmt::format("PyTorch: {}, ncclprobe: {} at {}", its->text(), ours->text(), nccl->path)},
        "the results may not apply to training",
        "ncclprobe --library nccl=PATH with PyTorch's libnccl.so.2");
}

std::string list_of(const LibraryCode& library) {
  std::string text = library.path + ":";
  for (const auto* names : {&library.cubins, &library.ptx})
    for (const std::string& name : *names)
      text += " " + name;
  return text;
}

} // namespace

void check_compatibility(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    check_driver_fit(survey, into);
    check_code(survey, "D05", code_of_worker(survey), "this ncclprobe",
               survey.inventory.worker_version, remedy_of_worker, into);
  }
  // All ranks have the same NCCL; otherwise D32 reports it.
  for (const LibraryCode& library : one.code) {
    std::string who = "NCCL's library";
    if (!library.cuda.empty())
      who += fmt::format(" (built with CUDA {})", library.cuda);
    for (const model::Survey& survey : one.surveys)
      check_code(survey, "D05", code_of_library(library), who, list_of(library), remedy_of_nccl,
                 into);
  }
  for (const PythonTorch& torch : one.torch)
    if (!one.surveys.empty())
      check_torch(one.surveys.front(), torch, into);
}

} // namespace ncclprobe::analysis::doctor

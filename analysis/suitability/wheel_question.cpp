// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/wheel_question.h"

#include "analysis/suitability/suitability_words.h"
#include "base/text_layout.h"
#include "knowledge/document.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::CpuKind;
using knowledge::PytorchWheel;
using knowledge::VersionNumber;

// One GPU, and the relevant data of its host.
struct Target {
  const GpuInQuestion& gpu;
  const NodeInQuestion& node;
  CpuKind cpu = CpuKind::x86_64;
};

std::string cpu_text(CpuKind cpu) {
  return cpu == CpuKind::aarch64 ? "Arm" : "x86-64";
}

bool same_release(const PytorchWheel& wheel, const VersionNumber& torch) {
  return wheel.torch.major() == torch.major() && wheel.torch.minor() == torch.minor();
}

std::vector<const PytorchWheel*> wheels_of(const VersionNumber& torch, CpuKind cpu) {
  std::vector<const PytorchWheel*> all;
  for (const PytorchWheel& one : knowledge::pytorch_wheels())
    if (one.cpu == cpu && same_release(one, torch))
      all.push_back(&one);
  return all;
}

std::string tags_text(const std::vector<const PytorchWheel*>& wheels) {
  std::vector<std::string> tags;
  for (const PytorchWheel* one : wheels)
    tags.push_back(one->cuda_tag);
  return base::join(tags, ", ");
}

std::string code_text(const PytorchWheel& wheel) {
  std::vector<std::string> targets;
  for (const auto& one : wheel.cubins)
    targets.push_back(one.sm());
  for (const auto& one : wheel.ptx)
    targets.push_back(one.compute());
  return base::join(targets, ", ");
}

bool driver_runs(const Target& target, const PytorchWheel& wheel) {
  return !target.node.driver || knowledge::judge_driver(*target.node.driver, wheel.cuda).verdict !=
                                    knowledge::DriverVerdict::insufficient;
}

// Pip wants all three numbers of a version.
std::string full_text(VersionNumber torch) {
  torch.parts.resize(std::max<std::size_t>(torch.parts.size(), 3));
  return torch.text();
}

WheelToTake to_take(const VersionNumber& torch, const PytorchWheel& wheel, bool newest) {
  const std::string version = full_text(torch);
  return {fmt::format("torch=={}+{}", version, wheel.cuda_tag),
          fmt::format("pip install torch=={} --index-url https://download.pytorch.org/whl/{}",
                      version, wheel.cuda_tag),
          newest};
}

// From one release, for a newer CUDA; an experimental wheel only if there is no other.
bool better(const PytorchWheel& one, const PytorchWheel* best) {
  return best == nullptr || one.torch > best->torch || one.status != "experimental" ||
         best->status == "experimental";
}

// First wheels of the same release that run; then the newest release with a wheel that runs.
std::vector<WheelToTake> wheels_that_run(const WheelSpec& asked, const Target& target) {
  const PytorchWheel* of_release = nullptr;
  const PytorchWheel* newest = nullptr;
  for (const PytorchWheel& one : knowledge::pytorch_wheels()) {
    if (one.cpu != target.cpu || !knowledge::has_code(one, target.gpu.capability) ||
        !driver_runs(target, one))
      continue;
    if (same_release(one, asked.torch) && better(one, of_release))
      of_release = &one;
    if (better(one, newest))
      newest = &one;
  }
  std::vector<WheelToTake> found;
  if (of_release != nullptr)
    found.push_back(to_take(asked.torch, *of_release, of_release == newest));
  if (newest != nullptr && newest != of_release)
    found.push_back(to_take(newest->torch, *newest, true));
  return found;
}

void add_driver(const Target& target, const PytorchWheel& wheel, WheelVerdict& into) {
  const knowledge::GpuLimits limits = software_limits({&target.gpu, 1});
  if (!target.node.driver) {
    auto least = knowledge::judge_driver({}, wheel.cuda).least;
    if (least && limits.first_branch)
      least = std::max(*least, *limits.first_branch);
    if (least)
      into.cautions.push_back(fmt::format(
          "it needs driver {} or newer{}", least->text(),
          limits.last_branch
              ? fmt::format(", up to branch {}, the last for this GPU", limits.last_branch->text())
              : ""));
    return;
  }
  const auto advice = knowledge::advise(*target.node.driver, wheel.cuda, limits);
  if (advice.fit.verdict == knowledge::DriverVerdict::insufficient) {
    into.runs = Known::no;
    into.why = fmt::format("driver {}: {}", target.node.driver->text(), advice.fit.meaning);
    into.cautions = {remedies_text(advice)};
  } else if (advice.fit.verdict == knowledge::DriverVerdict::minor_compat) {
    into.cautions.push_back(
        fmt::format("driver {}: {}", target.node.driver->text(), advice.fit.meaning));
  }
}

void add_nccl_faults(const Target& target, const PytorchWheel& wheel, WheelVerdict& into) {
  auto nccl = knowledge::parse_version(wheel.nccl);
  for (const knowledge::KnownBadNccl* one : bad_nccl(target.gpu))
    if (nccl && one->concerns(*nccl))
      into.cautions.push_back(fmt::format("it brings NCCL {}, which {}: {}; take {}", nccl->text(),
                                          one->what, one->when, one->way_out));
}

void judge_known(const PytorchWheel& wheel, const Target& target, WheelVerdict& into) {
  const auto fit = knowledge::judge_code(target.gpu.capability, wheel.cubins, wheel.ptx);
  using enum knowledge::CodeVerdict;
  if (fit.verdict == none) {
    const auto misfit = knowledge::why_no_code(target.gpu.capability, wheel.cubins, wheel.ptx);
    into.runs = Known::no;
    into.why = fmt::format("it has no code for {}: {} ({})", target.gpu.capability.sm(),
                           knowledge::misfit_text(misfit), code_text(wheel));
    return;
  }
  into.runs = Known::yes;
  into.why = fit.verdict == ptx_jit
                 ? fmt::format("the driver compiles its {} at the first start", fit.via->compute())
                 : fmt::format("it runs its {} code", fit.via->sm());
  add_driver(target, wheel, into);
  if (into.runs == Known::yes)
    add_nccl_faults(target, wheel, into);
}

// A release whose wheels all behave alike needs no tag.
void judge_without_tag(const WheelSpec& asked, const Target& target, WheelVerdict& into) {
  const auto wheels = wheels_of(asked.torch, target.cpu);
  const auto with_code = std::count_if(wheels.begin(), wheels.end(), [&](const auto* one) {
    return knowledge::has_code(*one, target.gpu.capability);
  });
  if (!wheels.empty() && (with_code == 0 || with_code == std::ssize(wheels))) {
    judge_known(*wheels.back(), target, into);
    return;
  }
  into.why = fmt::format("the tables do not say which of {} PyPI has of {}: name one",
                         tags_text(wheels), asked.torch.text());
}

void judge_not_in_tables(const WheelSpec& asked, const Target& target, WheelVerdict& into) {
  const auto wheels = wheels_of(asked.torch, target.cpu);
  if (!wheels.empty()) {
    into.runs = Known::no;
    into.why = fmt::format("PyTorch {} has no wheel {} for {}, only {}", asked.torch.text(),
                           asked.tag, cpu_text(target.cpu), tags_text(wheels));
    return;
  }
  into.why = fmt::format("the tables know no wheel of PyTorch {} for {}", asked.torch.text(),
                         cpu_text(target.cpu));
}

// Why it is not built for NVIDIA GPUs; empty if it is.
std::string other_build(const WheelSpec& asked, const std::string& tag) {
  switch (asked.build) {
  case WheelBuild::cpu:
    return "it is built without CUDA";
  case WheelBuild::rocm:
    return "it is built for AMD GPUs (ROCm, with RCCL instead of NCCL)";
  case WheelBuild::xpu:
    return "it is built for Intel's GPUs";
  case WheelBuild::pypi:
    return tag == "cpu" ? "PyPI's wheel for Arm is built without CUDA" : "";
  case WheelBuild::cuda:
    break;
  }
  return "";
}

WheelVerdict judge_one(const WheelSpec& asked, const Target& target) {
  WheelVerdict verdict{
      gpus_text(target.gpu), target.gpu.capability, target.cpu, Known::unknown, "", {}, {}};
  if (needs_jetpack(target.gpu)) {
    verdict.why = "PyTorch for it comes with NVIDIA's JetPack; wheels for Arm are for servers";
    return verdict;
  }
  const std::string tag = asked.build == WheelBuild::pypi
                              ? knowledge::pypi_tag(asked.torch, target.cpu).value_or("")
                              : asked.tag;
  const std::string other = other_build(asked, tag);
  const PytorchWheel* wheel = knowledge::pytorch_wheel(asked.torch, tag, target.cpu);
  if (!other.empty()) {
    verdict.runs = Known::no;
    verdict.why = other;
  } else if (asked.pre_release) {
    verdict.why = "pre-releases are not in the tables; if it is installed, run: ncclprobe doctor "
                  "--python PATH";
  } else if (wheel != nullptr) {
    judge_known(*wheel, target, verdict);
  } else if (asked.build == WheelBuild::pypi && !wheels_of(asked.torch, target.cpu).empty()) {
    judge_without_tag(asked, target, verdict);
  } else {
    judge_not_in_tables(asked, target, verdict);
  }
  if (verdict.runs != Known::yes)
    verdict.instead = wheels_that_run(asked, target);
  return verdict;
}

const char* title_of(Known runs) {
  return runs == Known::yes ? "Runs" : runs == Known::no ? "Fails" : "Unknown";
}

// "torch==2.8; PyPI has cu128 for x86-64"
std::string wheel_text(const WheelSpec& asked, const std::vector<WheelVerdict>& verdicts) {
  std::vector<std::string> has;
  for (CpuKind cpu : {CpuKind::x86_64, CpuKind::aarch64}) {
    const bool any = std::any_of(verdicts.begin(), verdicts.end(),
                                 [&](const WheelVerdict& one) { return one.cpu == cpu; });
    const auto tag = knowledge::pypi_tag(asked.torch, cpu);
    if (any && tag)
      has.push_back(
          fmt::format("{} for {}", *tag == "cpu" ? "one without CUDA" : *tag, cpu_text(cpu)));
  }
  const bool told = asked.build == WheelBuild::pypi && !asked.pre_release && !has.empty();
  return asked.text + (told ? fmt::format("; PyPI has {}", fmt::join(has, " and ")) : "");
}

TablePtr verdict_table(const std::vector<WheelVerdict>& verdicts) {
  TableOf<WheelVerdict> table(verdicts);
  table.add("name", &WheelVerdict::gpu);
  table.add("compute_capability", [](const WheelVerdict& one) { return one.capability.text(); });
  table.add("cpu", &WheelVerdict::cpu);
  table.add("runs", &WheelVerdict::runs);
  table.add("why", &WheelVerdict::why);
  table.add("cautions", &WheelVerdict::cautions);
  table.add("instead", &WheelVerdict::instead).nested();
  return table.table();
}

} // namespace

std::vector<WheelVerdict> judge_wheel(const WheelSpec& wheel,
                                      const std::vector<NodeInQuestion>& nodes) {
  std::vector<WheelVerdict> verdicts;
  for (const NodeInQuestion& node : nodes)
    for (const GpuInQuestion& gpu : node.gpus)
      verdicts.push_back(judge_one(wheel, {gpu, node, cpu_of(gpu)}));
  return verdicts;
}

Known worst(const std::vector<WheelVerdict>& verdicts) {
  Known worst = Known::yes;
  for (const WheelVerdict& one : verdicts)
    if (one.runs == Known::no || (one.runs == Known::unknown && worst == Known::yes))
      worst = one.runs;
  return worst;
}

Report wheel_report(const WheelSpec& wheel, const std::vector<WheelVerdict>& verdicts) {
  Report report;
  report.sections.push_back({"wheel"});
  report.sections.back().add("Wheel", wheel_text(wheel, verdicts), k_answer_hang);
  for (const WheelVerdict& one : verdicts) {
    Section section{"gpu"};
    section.add(title_of(one.runs),
                fmt::format("{} ({}): {}", one.gpu, one.capability.text(), one.why), k_answer_hang);
    section.add_each("", one.cautions, k_answer_hang);
    const char* label = "  take";
    for (const WheelToTake& take : one.instead)
      section.blocks.push_back(Text{std::exchange(label, "  or"),
                                    take.command + (take.newest ? " (the newest that runs)" : ""),
                                    k_answer_hang, true});
    report.sections.push_back(std::move(section));
  }
  report.sections.push_back({"tables"});
  report.sections.back().add("Tables of", knowledge::tables_are_of(), k_answer_hang);
  report.rows = verdict_table(verdicts);
  report.data = {{"schema", "ncclprobe.wheel_answer"},
                 {"schema_version", 1},
                 {"tables_date", knowledge::tables_date()},
                 {"wheel", wheel.text},
                 {"torch", wheel.torch.text()},
                 {"tag", wheel.tag},
                 {"runs", worst(verdicts)},
                 {"gpus", report.rows}};
  return report;
}

} // namespace ncclprobe::analysis

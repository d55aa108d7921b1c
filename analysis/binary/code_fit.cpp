// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_fit.h"

#include "base/printable.h"
#include "base/text_layout.h"
#include "knowledge/cuda_tables.h"
#include "knowledge/document.h"

namespace ncclprobe::analysis {
namespace {

using knowledge::CodeVerdict;
using knowledge::Misfit;

constexpr int k_hang = 13;

std::string remedy(const GpuToServe& gpu, Misfit misfit) {
  const std::string wheels = knowledge::wheels_for(gpu.capability, misfit, gpu.cpu);
  return fmt::format("take {}{}{}", knowledge::build_for(gpu.capability, misfit),
                     wheels.empty() ? "" : "; ", wheels);
}

void judge_jit(const DeviceCode& code, GpuVerdict& verdict) {
  verdict.ptx_isa = code.ptx.at(*verdict.fit.via).newest_isa;
  verdict.jit_cuda = knowledge::cuda_of_ptx_isa(*verdict.ptx_isa);
  std::string what = fmt::format("the driver compiles {} when the program starts (slow the first "
                                 "time, then cached)",
                                 verdict.fit.via->compute());
  if (!verdict.jit_cuda) {
    verdict.meaning = fmt::format("{}, if it knows PTX {}", what, verdict.ptx_isa->text());
    return;
  }
  verdict.meaning = fmt::format("{}; this needs a driver for CUDA {} (PTX {})", what,
                                verdict.jit_cuda->text(), verdict.ptx_isa->text());
  if (!verdict.gpu.driver_cuda)
    return;
  bool knows = *verdict.gpu.driver_cuda >= *verdict.jit_cuda;
  verdict.runs = knows ? GpuVerdict::Runs::yes : GpuVerdict::Runs::no;
  if (!knows)
    verdict.meaning = fmt::format("PTX {} needs a driver for CUDA {}, but this one is for {}: "
                                  "\"the provided PTX was compiled with an unsupported toolchain\"",
                                  verdict.ptx_isa->text(), verdict.jit_cuda->text(),
                                  verdict.gpu.driver_cuda->text());
}

GpuVerdict judge_one(const DeviceCode& code, const GpuToServe& gpu) {
  auto cubins = code.cubin_targets();
  auto ptx = code.ptx_targets();
  GpuVerdict verdict;
  verdict.gpu = gpu;
  verdict.fit = knowledge::judge_code(gpu.capability, cubins, ptx);
  switch (verdict.fit.verdict) {
  case CodeVerdict::native:
  case CodeVerdict::same_major:
    verdict.runs = GpuVerdict::Runs::yes;
    verdict.meaning = fmt::format("runs its {} code", verdict.fit.via->sm());
    break;
  case CodeVerdict::ptx_jit:
    judge_jit(code, verdict);
    break;
  case CodeVerdict::none:
    if (code.empty()) {
      verdict.meaning = "this file has no GPU code: the code that it runs is in other libraries";
    } else if (cubins.empty() && ptx.empty()) {
      verdict.meaning = "only code that is linked when the program runs (nvJitLink)";
    } else {
      verdict.runs = GpuVerdict::Runs::no;
      Misfit misfit = knowledge::why_no_code(gpu.capability, cubins, ptx);
      verdict.meaning = fmt::format("\"no kernel image is available for execution on the device\": "
                                    "{}; {}",
                                    knowledge::misfit_text(misfit), remedy(gpu, misfit));
    }
    break;
  }
  return verdict;
}

// Code for one target.
struct TargetCode {
  std::string kind;
  std::string target;
  CodeCount count;
  std::optional<std::string> ptx_isa;
};

TablePtr code_table(std::vector<TargetCode> rows) {
  TableOf<TargetCode> table(std::move(rows));
  table.add("target", &TargetCode::target).titled("code for").left();
  table.add("kind", &TargetCode::kind);
  table.show_left("kind",
                  [](const auto& one) { return one.ptx_isa ? "PTX " + *one.ptx_isa : one.kind; });
  table.add("entries", [](const auto& one) { return one.count.entries; }).titled("entries");
  table.add("bytes", [](const auto& one) { return one.count.bytes; });
  table.show("MB", [](const auto& one) { return static_cast<double>(one.count.bytes) / 1e6; },
             {Unit::fixed, 1});
  table.add("ptx_isa", &TargetCode::ptx_isa);
  return table.table();
}

TablePtr verdict_table(const std::vector<GpuVerdict>& verdicts) {
  TableOf<GpuVerdict> table(verdicts);
  table.add("name", [](const auto& one) { return base::printable(one.gpu.name); });
  table.add("compute_capability", [](const auto& one) { return one.gpu.capability.text(); });
  table.add("runs", &GpuVerdict::runs);
  table.add("verdict", [](const auto& one) { return one.fit.verdict; });
  table.add("via", [](const auto& one) -> Value {
    if (!one.fit.via)
      return nullptr;
    return one.fit.verdict == CodeVerdict::ptx_jit ? one.fit.via->compute() : one.fit.via->sm();
  });
  table.add("meaning", &GpuVerdict::meaning);
  return table.table();
}

} // namespace

std::vector<GpuVerdict> judge_device_code(const DeviceCode& code,
                                          const std::vector<GpuToServe>& gpus) {
  std::vector<GpuVerdict> verdicts;
  for (const GpuToServe& gpu : gpus)
    verdicts.push_back(judge_one(code, gpu));
  return verdicts;
}

Report device_code_report(const std::string& path, const DeviceCode& code,
                          const std::vector<GpuVerdict>& verdicts) {
  std::vector<TargetCode> cubins, ptx, link_time, all;
  for (const auto& [target, count] : code.cubins)
    cubins.push_back({"machine code", target.sm(), count, {}});
  for (const auto& [target, one] : code.ptx)
    ptx.push_back({"PTX", target.compute(), one.count, one.newest_isa.text()});
  for (const auto& [target, count] : code.link_time)
    link_time.push_back({"linked at run time", target.sm(), count, {}});
  for (const auto* some : {&cubins, &ptx, &link_time})
    all.insert(all.end(), some->begin(), some->end());

  Section file{"file"};
  file.add("File",
           fmt::format("{}, {}, {}", path, code.format,
                       base::count_of(code.containers, "fat binary", "fat binaries")),
           k_hang);
  if (!code.nccl.empty())
    file.add("NCCL",
             fmt::format("{}, built with CUDA {}", code.nccl,
                         code.nccl_cuda.empty() ? "unknown" : code.nccl_cuda),
             k_hang);
  Section gpus{"gpus"};
  for (const GpuVerdict& one : verdicts)
    gpus.add(one.runs == GpuVerdict::Runs::yes  ? "Runs"
             : one.runs == GpuVerdict::Runs::no ? "Fails"
                                                : "Open",
             fmt::format("{} ({}): {}", one.gpu.name, one.gpu.capability.text(), one.meaning),
             k_hang);
  gpus.add_each("Damaged", code.problems, k_hang);
  gpus.add("Tables of", knowledge::tables_are_of(), k_hang);
  Report report;
  report.rows = code_table(std::move(all));
  Section targets{"code"};
  if (code.empty())
    targets.add("Code", "no GPU code", k_hang);
  else
    targets.blocks.push_back(View{report.rows});
  report.sections = {std::move(file), std::move(targets), std::move(gpus)};
  report.data = {{"schema", "ncclprobe.device_code"},
                 {"schema_version", 1},
                 {"file", base::printable(path)},
                 {"format", code.format},
                 {"containers", code.containers},
                 {"nccl", code.nccl},
                 {"nccl_cuda", code.nccl_cuda},
                 {"problems", code.problems},
                 {"tables_date", knowledge::tables_date()},
                 {"cubins", code_table(std::move(cubins))},
                 {"ptx", code_table(std::move(ptx))},
                 {"link_time", code_table(std::move(link_time))},
                 {"gpus", verdict_table(verdicts)}};
  return report;
}

} // namespace ncclprobe::analysis

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_fit.h"

#include "base/printable.h"
#include "base/text_layout.h"
#include "base/text_table.h"
#include "knowledge/cuda_tables.h"
#include "knowledge/document.h"
#include "model/enum_names.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using knowledge::CodeTarget;
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

std::string_view word(GpuVerdict::Runs runs) {
  return runs == GpuVerdict::Runs::yes ? "yes" : runs == GpuVerdict::Runs::no ? "no" : "unknown";
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6);
}

nlohmann::json count_json(const CodeTarget& target, const CodeCount& count) {
  return {{"target", target.sm()}, {"entries", count.entries}, {"bytes", count.bytes}};
}

} // namespace

std::vector<GpuVerdict> judge_device_code(const DeviceCode& code,
                                          const std::vector<GpuToServe>& gpus) {
  std::vector<GpuVerdict> verdicts;
  for (const GpuToServe& gpu : gpus)
    verdicts.push_back(judge_one(code, gpu));
  return verdicts;
}

std::string render_device_code(const std::string& path, const DeviceCode& code,
                               const std::vector<GpuVerdict>& verdicts) {
  std::string out =
      base::paragraph("File",
                      fmt::format("{}, {}, {}", base::printable(path), code.format,
                                  base::count_of(code.containers, "fat binary", "fat binaries")),
                      k_hang);
  if (!code.nccl.empty())
    out += base::paragraph("NCCL",
                           fmt::format("{}, built with CUDA {}", code.nccl,
                                       code.nccl_cuda.empty() ? "unknown" : code.nccl_cuda),
                           k_hang);
  if (code.empty())
    out += base::paragraph("Code", "no GPU code", k_hang);
  else {
    using Table = base::TextTable;
    Table table(
        {{"code for", Table::Align::left}, {"kind", Table::Align::left}, {"entries"}, {"MB"}});
    for (const auto& [target, count] : code.cubins)
      table.add_row(
          {target.sm(), "machine code", std::to_string(count.entries), megabytes(count.bytes)});
    for (const auto& [target, ptx] : code.ptx)
      table.add_row({target.compute(), fmt::format("PTX {}", ptx.newest_isa.text()),
                     std::to_string(ptx.count.entries), megabytes(ptx.count.bytes)});
    for (const auto& [target, count] : code.link_time)
      table.add_row({target.sm(), "linked at run time", std::to_string(count.entries),
                     megabytes(count.bytes)});
    out += "\n" + table.render(2) + "\n";
  }
  for (const GpuVerdict& one : verdicts)
    out += base::paragraph(one.runs == GpuVerdict::Runs::yes  ? "Runs"
                           : one.runs == GpuVerdict::Runs::no ? "Fails"
                                                              : "Open",
                           fmt::format("{} ({}): {}", base::printable(one.gpu.name),
                                       one.gpu.capability.text(), one.meaning),
                           k_hang);
  for (const std::string& problem : code.problems)
    out += base::paragraph("Damaged", problem, k_hang);
  return out + base::paragraph("Tables of", knowledge::tables_are_of(), k_hang);
}

nlohmann::json device_code_json(const std::string& path, const DeviceCode& code,
                                const std::vector<GpuVerdict>& verdicts) {
  nlohmann::json json{{"schema", "ncclprobe.device_code/1"},
                      {"file", base::printable(path)},
                      {"format", code.format},
                      {"containers", code.containers},
                      {"nccl", code.nccl},
                      {"nccl_cuda", code.nccl_cuda},
                      {"problems", code.problems},
                      {"tables_date", knowledge::tables_date()}};
  for (const char* list : {"cubins", "ptx", "link_time", "gpus"})
    json[list] = nlohmann::json::array();
  for (const auto& [target, count] : code.cubins)
    json["cubins"].push_back(count_json(target, count));
  for (const auto& [target, ptx] : code.ptx) {
    nlohmann::json one = count_json(target, ptx.count);
    one["ptx_isa"] = ptx.newest_isa.text();
    json["ptx"].push_back(std::move(one));
  }
  for (const auto& [target, count] : code.link_time)
    json["link_time"].push_back(count_json(target, count));
  for (const GpuVerdict& one : verdicts) {
    nlohmann::json gpu{{"name", base::printable(one.gpu.name)},
                       {"compute_capability", one.gpu.capability.text()},
                       {"runs", word(one.runs)},
                       {"verdict", model::to_string(one.fit.verdict)},
                       {"via", nullptr},
                       {"meaning", one.meaning}};
    if (one.fit.via)
      gpu["via"] =
          one.fit.verdict == CodeVerdict::ptx_jit ? one.fit.via->compute() : one.fit.via->sm();
    json["gpus"].push_back(std::move(gpu));
  }
  return json;
}

} // namespace ncclprobe::analysis

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_fit.h"
#include "analysis/binary/device_code.h"
#include "analysis/report_value/report_writers.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto code = analysis::read_device_code(text);
  if (!code)
    return 0;
  auto verdicts = analysis::judge_device_code(*code, {{"H200", {9, 0}, {}}, {"T4", {7, 5}, {}}});
  const analysis::Report report = analysis::device_code_report("fuzz", *code, verdicts);
  for (const auto& [format, name] : base::enum_names(analysis::Format{}))
    analysis::written(report, format);
  return 0;
}

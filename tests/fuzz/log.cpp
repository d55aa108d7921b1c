// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_report.h"
#include "analysis/diagnosis/log_scanner.h"
#include "analysis/report_value/report_writers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static const analysis::LogPatterns patterns;
  analysis::LogScanner scanner(patterns);
  // The first byte says in which pieces the rest comes.
  std::size_t piece = text.empty() || text[0] == 0 ? 1 << 16 : static_cast<unsigned char>(text[0]);
  for (std::size_t at = std::min<std::size_t>(1, text.size()); at < text.size(); at += piece)
    scanner.feed(text.substr(at, piece));
  analysis::LogFindings findings = scanner.finish();
  analysis::LogDiagnosis diagnosis = analysis::diagnose(findings);
  const analysis::Report report = analysis::log_report("fuzz", findings, diagnosis);
  for (const auto& [format, name] : base::enum_names(analysis::Format{}))
    analysis::written(report, format);
  return 0;
}

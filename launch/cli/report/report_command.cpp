// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/report/report_command.h"

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/report/report.h"
#include "analysis/suitability/prices.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/files/traced_steps.h"
#include "store/run_file.h"
#include "store/trace_file.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_report_command = "ncclprobe report";

base::Result<analysis::Report> report_of(const ReportOptions& options) {
  if (options.fold)
    NCCLPROBE_TRY(fold_parts(options.run_file));
  if (options.timeline)
    return timeline_report(options);

  auto read = read_summary_or_parts(options.run_file);
  // A trace alone has only a timeline.
  if (!read && read.error().code == base::Errc::protocol && options.prices.empty() &&
      store::TraceFile::open(options.run_file))
    return timeline_report(options);
  if (!read)
    return base::fail(read.error());
  const auto kept = std::make_shared<const analysis::RunSummary>(std::move(*read));
  const analysis::RunSummary& run = *kept;
  std::optional<double> price_per_gpu;
  if (!options.prices.empty() && analysis::is_p2p(run))
    return base::fail(base::Errc::invalid_argument,
                      "--price goes with collectives and steps, and this run is of P2P transfers");
  if (!options.prices.empty()) {
    NCCLPROBE_TRY_ASSIGN(price_per_gpu, analysis::price_per_gpu(run, options.prices));
  }
  if (options.brief && analysis::is_p2p(run))
    return base::fail(base::Errc::invalid_argument,
                      "--brief goes with collectives and steps, and this run is of P2P transfers");
  analysis::Report report =
      analysis::run_report(run, price_per_gpu, traced_steps(options.run_file, run),
                           options.brief ? analysis::Extent::brief : analysis::Extent::whole);
  report.figures.push_back(kept);
  return report;
}

} // namespace

int report_run(const ReportOptions& options) {
  if (auto possible = check_output(options.output, {options.run_file}); !possible)
    return complain_of_output(k_report_command, possible.error());
  const auto report = report_of(options);
  if (!report)
    return complain_of_input(k_report_command, report.error());
  return deliver(*report, options.format.value_or(analysis::Format::table), options.output,
                 base::k_exit_ok);
}

} // namespace ncclprobe::cli

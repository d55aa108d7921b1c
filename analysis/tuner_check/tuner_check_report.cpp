// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tuner_check/tuner_check_report.h"

#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

// The most calls of any process that no row decided, by the reason.
std::uint64_t most_calls(const RowEvidence& evidence, std::uint64_t tuning::HitCounts::*member) {
  std::uint64_t most = 0;
  for (const tuning::HitCounts& hits : evidence.hits)
    most = std::max(most, hits.*member);
  return most;
}

TableOf<RowCheck> rows_table(std::vector<RowCheck> checks) {
  TableOf<RowCheck> table(std::move(checks));
  auto of_choice = [](auto member) {
    return [member](const RowCheck& check) {
      return check.row.choice ? Value(check.row.choice.value().*member) : Value();
    };
  };
  table.add("row", &RowCheck::number).titled("row");
  table.add("collective", [](const RowCheck& check) { return check.row.collective; })
      .titled("collective")
      .left();
  table.add("min_bytes", [](const RowCheck& check) { return check.row.min_bytes; })
      .titled("from", {Unit::size});
  table.add("max_bytes", [](const RowCheck& check) { return check.row.max_bytes; })
      .titled("to", {Unit::size});
  table.add("ranks", [](const RowCheck& check) { return check.row.ranks; }).titled("ranks");
  table.add("nodes", [](const RowCheck& check) { return check.row.nodes; }).titled("nodes");
  table
      .add("nvlink_domains",
           [](const RowCheck& check) {
             return check.row.domains ? Value(to_text(*check.row.domains)) : Value();
           })
      .titled("NVLink domains")
      .left()
      .if_any();
  table.add("algorithm", of_choice(&tuning::Choice::algorithm)).titled("algorithm").left();
  table.add("protocol", of_choice(&tuning::Choice::protocol)).titled("protocol").left();
  table
      .add("channels",
           [](const RowCheck& check) {
             return check.row.channels == tuning::k_keep_channels ? Value()
                                                                  : Value(check.row.channels);
           })
      .titled("channels");
  table.add("state", &RowCheck::state).titled("state").left();
  table.add("calls", &RowCheck::calls).titled("calls").if_any();
  add_why(table, "reason", &RowCheck::reason);
  return table;
}

} // namespace

Report tuner_check_report(const std::filesystem::path& path, const tuning::TableFile& file,
                          const RowEvidence& evidence, std::vector<RowCheck> checks) {
  const TableOf<RowCheck> table = rows_table(std::move(checks));
  std::error_code ignored;
  const std::string reference =
      to_text(tuning::TableReference{std::filesystem::absolute(path, ignored), file.sha256});
  auto known = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  const tuning::Header& header = file.table.header;
  const std::uint64_t without_row = most_calls(evidence, &tuning::HitCounts::without_row);
  const std::uint64_t set_aside = most_calls(evidence, &tuning::HitCounts::set_aside);

  Section section{.key = "rows"};
  section.title = fmt::format("Tuner table {}", path.string());
  if (!header.machine.empty() || !header.gpu.empty())
    section.add("",
                fmt::format("Measured on {}{}{}", header.machine,
                            header.machine.empty() || header.gpu.empty() ? "" : ", ", header.gpu),
                2);
  if (!header.gain.empty())
    section.add("", fmt::format("Gain {} ({})", header.gain, header.interval), 2);
  section.blocks.emplace_back(View{.table = table.table()});
  for (const RowCheck& check : table.rows())
    if (check.reason)
      section.add("", fmt::format("Row {}: {}.", check.number, in_words(*check.reason)), 2);
  if (without_row > 0)
    section.add("",
                fmt::format("{} had no row, or were groups of operations, and kept NCCL's choice.",
                            base::count_of(without_row, "call", "calls")),
                2);
  if (set_aside > 0)
    section.add("",
                fmt::format("{} kept NCCL's choice, because NCCL's estimates there are not "
                            "those of the table's machine.",
                            base::count_of(set_aside, "call", "calls")),
                2);
  section.add("",
              "To use it, set NCCL_TUNER_PLUGIN to libncclprobe-tuner.so on all ranks, and:", 0);
  section.blocks.emplace_back(Code{{fmt::format("export NCCLPROBE_TUNER_TABLE='{}'", reference)}});
  section.add("",
              "NCCL goes on silently without a plugin that it cannot load. With both variables, "
              "this tries the plugin and the table on every rank:",
              0);
  section.blocks.emplace_back(Code{{"mpirun -np 8 ncclprobe doctor"}});
  return {.sections = {section},
          .data = {{"schema", "ncclprobe.tuner_check"},
                   {"schema_version", 1},
                   {"machine", known(header.machine)},
                   {"gpu", known(header.gpu)},
                   {"nccl", known(header.nccl)},
                   {"reference", reference},
                   {"without_row", evidence.hits.empty() ? Value() : Value(without_row)},
                   {"set_aside", evidence.hits.empty() ? Value() : Value(set_aside)},
                   {"rows", table.table()}},
          .rows = table.table()};
}

} // namespace ncclprobe::analysis

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/proof_section.h"

#include "analysis/proof/proof.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "model/cell_label.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_not_known = "not known";

std::string words_of(const std::vector<Use>& uses) {
  std::vector<std::string> parts;
  for (const Use& use : uses)
    parts.push_back(in_words(use));
  return join(parts, ", ");
}

// "RING LL 4 channels"; if ranks differ, each use with its ranks.
std::string words_of(const std::map<int, std::vector<Use>>& by_rank) {
  std::map<std::vector<Use>, std::vector<int>> groups;
  for (const auto& [rank, uses] : by_rank)
    groups[uses].push_back(rank);
  if (groups.empty())
    return std::string(k_not_known);
  if (groups.size() == 1)
    return words_of(groups.begin()->first);
  std::vector<std::string> parts;
  for (const auto& [uses, ranks] : groups)
    parts.push_back(fmt::format("{} on {}", words_of(uses), model::format_ranks(ranks)));
  return join(parts, "; ");
}

std::string form_of(const model::CellLabel& label) {
  std::string form = describe(label);
  if (label.placement == model::Placement::in_place)
    form += ", in place";
  return form;
}

// Consecutive cells that NCCL ran the same way share a row.
struct UsedRow {
  std::string form;
  std::set<std::uint64_t> sizes;
  std::string setting;
  std::string by_default;
};

void add_row(std::vector<UsedRow>& rows, UsedRow row) {
  if (!rows.empty() && rows.back().form == row.form && rows.back().setting == row.setting &&
      rows.back().by_default == row.by_default)
    rows.back().sizes.merge(row.sizes);
  else
    rows.push_back(std::move(row));
}

// A step of one rank, or without communication: it has no evidence.
bool is_silent_by_design(const CellProof& cell) {
  const auto* step = cell.label.step();
  return step && !step->communicates() && cell.by_rank.empty();
}

const CellProof* find_cell(const SettingProof* base, const model::CellLabel& label) {
  if (base == nullptr)
    return nullptr;
  auto found = std::find_if(base->cells.begin(), base->cells.end(),
                            [&](const CellProof& cell) { return cell.label == label; });
  return found == base->cells.end() ? nullptr : &*found;
}

TablePtr rows_table(std::vector<UsedRow> rows) {
  TableOf<UsedRow> table(std::move(rows));
  table.show("collective", [](const UsedRow& row) { return row.form; }).left(42);
  table.show("size", [](const UsedRow& row) { return format_size_range(row.sizes); }).left();
  table.show("used", [](const UsedRow& row) { return row.setting; }).left();
  table
      .show("by default",
            [](const UsedRow& row) { return row.by_default.empty() ? Value() : row.by_default; })
      .left()
      .if_any();
  return table.table();
}

// What the default used, or how a setting differs from it; nothing if all is unknown.
std::vector<UsedRow> rows_of(const SettingProof& proof, const SettingProof* base) {
  std::vector<UsedRow> rows;
  for (const CellProof& cell : proof.cells)
    if (proof.is_default ? !is_silent_by_design(cell) : cell.as_default == false)
      add_row(rows, {form_of(cell.label),
                     {cell.label.bytes},
                     words_of(cell.by_rank),
                     proof.is_default ? "" : words_of(find_cell(base, cell.label)->by_rank)});
  const bool nothing_known = std::all_of(
      rows.begin(), rows.end(), [](const UsedRow& row) { return row.setting == k_not_known; });
  return proof.is_default && nothing_known ? std::vector<UsedRow>() : rows;
}

Text variable_text(const VariableProof& proof, int ranks) {
  std::string text = proof.setting.name + "=" + proof.setting.value + " " +
                     std::string(model::to_string(proof.effect));
  if (static_cast<int>(proof.ranks.size()) < ranks)
    text += on_ranks(proof.ranks);
  if (proof.reason)
    text += ": " + in_words(*proof.reason);
  if (!proof.line.empty())
    text += " [" + proof.line + "]";
  return {"  ", text, 2};
}

void add_setting(std::vector<Block>& blocks, const SettingProof& proof, const SettingProof* base,
                 int ranks) {
  blocks.push_back(Text{});
  blocks.push_back(Text{"", proof.setting, 0});
  if (!proof.outcome.ok())
    blocks.push_back(
        Text{"  ",
             fmt::format("Its companion trial {} {}: {}. The measurements are valid, but "
                         "the setting's effect is only partly known.",
                         proof.trial, in_words(proof.outcome.kind), proof.outcome.reason),
             2});
  for (const VariableProof& variable : proof.variables)
    blocks.push_back(variable_text(variable, ranks));
  if (auto rows = rows_of(proof, base); !rows.empty())
    blocks.push_back(View{rows_table(std::move(rows))});
  if (proof.changed_nothing)
    blocks.push_back(
        Text{"  ", "Every cell used the same algorithm, protocol and channels as by default.", 2});
  for (const CellProof& cell : proof.cells)
    for (const std::string* words : {&cell.disagreement, &cell.unclear})
      if (!words->empty())
        blocks.push_back(Text{
            "  ",
            fmt::format("{} {}: {}", form_of(cell.label), size_text(cell.label.bytes), *words), 2});
  for (const std::string& note : proof.notes)
    blocks.push_back(Text{"  Note:", note, 8});
}

Value if_known(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

List used(const CellProof& cell) {
  List ranks;
  for (const auto& [rank, uses] : cell.by_rank) {
    List calls;
    for (const Use& use : uses)
      calls.emplace_back(Object{{"algorithm", if_known(use.algorithm)},
                                {"protocol", if_known(use.protocol)},
                                {"channels", use.channels == 0 ? Value() : use.channels}});
    ranks.emplace_back(Object{{"rank", rank}, {"used", std::move(calls)}});
  }
  return ranks;
}

TablePtr proof_cells_table(const SettingProof& proof) {
  TableOf<CellProof> table(proof.cells);
  add_label(
      table, [](const CellProof& cell) -> auto& { return cell.label; });
  table.add("as_default", &CellProof::as_default);
  table.add("disagreement", &CellProof::disagreement);
  table.add("unclear", &CellProof::unclear);
  table.add("ranks", used);
  return table.table();
}

TablePtr variables_table(const SettingProof& proof) {
  TableOf<VariableProof> table(proof.variables);
  table.add("name", [](const VariableProof& one) { return one.setting.name; });
  table.add("value", [](const VariableProof& one) { return one.setting.value; });
  table.add("effect", &VariableProof::effect);
  add_why(table, "reason", &VariableProof::reason);
  table.add("line", &VariableProof::line);
  table.add("ranks", &VariableProof::ranks);
  return table.table();
}

// A companion left evidence, but none about some cell.
bool has_traceless_cells(const SettingProof& proof) {
  return std::any_of(proof.cells.begin(), proof.cells.end(),
                     [](const CellProof& cell) {
                       return cell.by_rank.empty() && !is_silent_by_design(cell) &&
                              cell.unclear.empty();
                     }) &&
         std::any_of(proof.cells.begin(), proof.cells.end(),
                     [](const CellProof& cell) { return !cell.by_rank.empty(); });
}

} // namespace

Report proof_report(const model::Run& run) {
  TableOf<SettingProof> table(setting_proofs(run));
  const std::vector<SettingProof>& proofs = table.rows();
  if (proofs.empty())
    return {};
  table.add("setting", &SettingProof::setting);
  table.add("trial", &SettingProof::trial);
  table.add("is_default", &SettingProof::is_default);
  table.add("outcome", [](const SettingProof& one) { return one.outcome.kind; });
  table.add("reason", [](const SettingProof& one) { return one.outcome.reason; });
  table.add("changed_nothing", &SettingProof::changed_nothing);
  table.add("variables", variables_table);
  table.add("cells", proof_cells_table);
  table.add("notes", &SettingProof::notes);
  auto base = std::find_if(proofs.begin(), proofs.end(),
                           [](const SettingProof& proof) { return proof.is_default; });
  Section section{"proof",
                  fmt::format("What the settings did{}: one untimed companion trial of each",
                              synthetic_mark(run))};
  for (const SettingProof& proof : proofs)
    add_setting(section.blocks, proof, base == proofs.end() ? nullptr : &*base,
                static_cast<int>(run.header.ranks.size()));
  if (run.header.backend == "nvidia" &&
      std::any_of(proofs.begin(), proofs.end(), has_traceless_cells)) {
    section.blocks.push_back(Text{});
    section.blocks.push_back(Text{"",
                                  "not known: NCCL does not log sends and receives, and without "
                                  "the profiler interface they leave no trace.",
                                  0});
  }
  return {.sections = {std::move(section)}, .data = {{"proof", table.table()}}};
}

} // namespace ncclprobe::analysis

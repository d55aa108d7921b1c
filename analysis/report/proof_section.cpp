// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/proof_section.h"

#include "analysis/proof/proof.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "base/text_table.h"
#include "base/units.h"
#include "workload/step_label.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json;
using base::TextTable;

constexpr std::string_view k_not_known = "not known";

std::string words_of(const std::vector<Use>& uses) {
  std::vector<std::string> parts;
  for (const Use& use : uses)
    parts.push_back(in_words(use));
  return join(parts, ", ");
}

// "RING LL 4 channels", or, where ranks differ, each with its ranks.
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

// Rows of cells that follow each other and were carried out alike are one.
struct Row {
  std::string form;
  std::set<std::uint64_t> sizes;
  std::string setting;
  std::string by_default;
};

void add_row(std::vector<Row>& rows, Row row) {
  if (!rows.empty() && rows.back().form == row.form && rows.back().setting == row.setting &&
      rows.back().by_default == row.by_default)
    rows.back().sizes.merge(row.sizes);
  else
    rows.push_back(std::move(row));
}

// A long form (a step of training) goes on in rows of its own.
void add_to_table(TextTable& table, const Row& row, std::vector<std::string> cells) {
  constexpr int k_form_columns = 40;
  auto form = wrap(row.form, k_form_columns);
  cells.insert(cells.begin(), {form.front(), format_size_range(row.sizes)});
  table.add_row(std::move(cells));
  for (std::size_t i = 1; i < form.size(); ++i)
    table.add_row({"  " + form[i]});
}

// A step of one rank, or without its communication: there is nothing to know.
bool is_silent_by_design(const CellProof& cell) {
  auto step = workload::read_step_label(cell.label);
  return step && !step->communicates() && cell.by_rank.empty();
}

const CellProof* find_cell(const SettingProof* base, const model::CellLabel& label) {
  if (base == nullptr)
    return nullptr;
  auto found = std::find_if(base->cells.begin(), base->cells.end(),
                            [&](const CellProof& cell) { return cell.label == label; });
  return found == base->cells.end() ? nullptr : &*found;
}

std::string render_uses(const SettingProof& proof) {
  std::vector<Row> rows;
  for (const CellProof& cell : proof.cells)
    if (!is_silent_by_design(cell))
      add_row(rows, {form_of(cell.label), {cell.label.bytes}, words_of(cell.by_rank), ""});
  if (std::all_of(rows.begin(), rows.end(),
                  [](const Row& row) { return row.setting == k_not_known; }))
    return "";
  TextTable table({{"collective", TextTable::Align::left},
                   {"size", TextTable::Align::left},
                   {"used", TextTable::Align::left}});
  for (const Row& row : rows)
    add_to_table(table, row, {printable(row.setting)});
  return table.render(2);
}

std::string render_differences(const SettingProof& proof, const SettingProof* base) {
  std::vector<Row> rows;
  for (const CellProof& cell : proof.cells)
    if (cell.as_default == false)
      add_row(rows, {form_of(cell.label),
                     {cell.label.bytes},
                     words_of(cell.by_rank),
                     words_of(find_cell(base, cell.label)->by_rank)});
  if (rows.empty())
    return "";
  TextTable table({{"collective", TextTable::Align::left},
                   {"size", TextTable::Align::left},
                   {"used", TextTable::Align::left},
                   {"by default", TextTable::Align::left}});
  for (const Row& row : rows)
    add_to_table(table, row, {printable(row.setting), printable(row.by_default)});
  return table.render(2);
}

std::string render_variable(const VariableProof& proof, int ranks) {
  std::string text = printable(proof.setting.name + "=" + proof.setting.value) + " " +
                     std::string(model::to_string(proof.effect));
  if (static_cast<int>(proof.ranks.size()) < ranks)
    text +=
        (proof.ranks.size() == 1 ? " on rank " : " on ranks ") + model::format_ranks(proof.ranks);
  if (!proof.reason.empty())
    text += ": " + printable(proof.reason);
  if (!proof.line.empty())
    text += " [" + printable(proof.line) + "]";
  return paragraph("  ", text, 2);
}

std::string render_setting(const SettingProof& proof, const SettingProof* base, int ranks) {
  std::string out = paragraph("", printable(proof.setting), 0);
  if (!proof.outcome.ok())
    out += paragraph("  ",
                     fmt::format("Its companion trial {} {}: {}. The measurements stand; what the "
                                 "setting did is not known in full.",
                                 proof.trial, in_words(proof.outcome.kind),
                                 printable(proof.outcome.reason)),
                     2);
  for (const VariableProof& variable : proof.variables)
    out += render_variable(variable, ranks);
  if (proof.is_default)
    out += render_uses(proof);
  else
    out += render_differences(proof, base);
  if (proof.changed_nothing)
    out += paragraph("  ",
                     "Every cell used the same algorithm, protocol and channels as by default.", 2);
  for (const CellProof& cell : proof.cells)
    for (const std::string* words : {&cell.disagreement, &cell.unclear})
      if (!words->empty())
        out += paragraph("  ",
                         fmt::format("{} {}: {}", form_of(cell.label),
                                     base::format_bytes(cell.label.bytes), printable(*words)),
                         2);
  for (const std::string& note : proof.notes)
    out += paragraph("  Note:", printable(note), 8);
  return out;
}

} // namespace

std::string render_proof(const model::Run& run) {
  std::vector<SettingProof> proofs = setting_proofs(run);
  if (proofs.empty())
    return "";
  auto base = std::find_if(proofs.begin(), proofs.end(),
                           [](const SettingProof& proof) { return proof.is_default; });
  const SettingProof* by_default = base == proofs.end() ? nullptr : &*base;
  std::string out = fmt::format("What the settings did{}: one untimed companion trial of each\n",
                                synthetic_mark(run));
  for (const SettingProof& proof : proofs)
    out += "\n" + render_setting(proof, by_default, static_cast<int>(run.header.ranks.size()));
  // Where a companion showed anything at all.
  bool traceless = std::any_of(proofs.begin(), proofs.end(), [](const SettingProof& proof) {
    auto unknown = [](const CellProof& cell) {
      return cell.by_rank.empty() && !is_silent_by_design(cell);
    };
    auto silent = [&](const CellProof& cell) { return unknown(cell) && cell.unclear.empty(); };
    return std::any_of(proof.cells.begin(), proof.cells.end(), silent) &&
           std::any_of(proof.cells.begin(), proof.cells.end(),
                       [](const CellProof& cell) { return !cell.by_rank.empty(); });
  });
  if (traceless && run.header.backend == "nvidia")
    out += "\n" + paragraph("",
                            "not known: NCCL does not log sends and receives, and without the "
                            "profiler interface they leave no trace.",
                            0);
  return out;
}

Json proof_json(const model::Run& run) {
  Json all = Json::array();
  for (const SettingProof& proof : setting_proofs(run)) {
    Json variables = Json::array();
    for (const VariableProof& one : proof.variables)
      variables.push_back({{"name", one.setting.name},
                           {"value", one.setting.value},
                           {"effect", model::to_string(one.effect)},
                           {"reason", one.reason},
                           {"line", one.line},
                           {"ranks", one.ranks}});
    Json cells = Json::array();
    for (const CellProof& cell : proof.cells) {
      Json ranks = Json::array();
      for (const auto& [rank, uses] : cell.by_rank) {
        Json calls = Json::array();
        for (const Use& use : uses)
          calls.push_back(
              {{"algorithm", use.algorithm.empty() ? Json(nullptr) : Json(use.algorithm)},
               {"protocol", use.protocol.empty() ? Json(nullptr) : Json(use.protocol)},
               {"channels", use.channels == 0 ? Json(nullptr) : Json(use.channels)}});
        ranks.push_back({{"rank", rank}, {"used", std::move(calls)}});
      }
      cells.push_back({{"workload", cell.label.workload},
                       {"size_bytes", cell.label.bytes},
                       {"type", model::to_string(cell.label.type)},
                       {"op", model::to_string(cell.label.op)},
                       {"placement", model::to_string(cell.label.placement)},
                       {"root", cell.label.root},
                       {"variant", cell.label.variant},
                       {"as_default", cell.as_default ? Json(*cell.as_default) : Json(nullptr)},
                       {"disagreement", cell.disagreement},
                       {"unclear", cell.unclear},
                       {"ranks", std::move(ranks)}});
    }
    all.push_back({{"setting", proof.setting},
                   {"trial", proof.trial},
                   {"is_default", proof.is_default},
                   {"outcome", model::to_string(proof.outcome.kind)},
                   {"reason", proof.outcome.reason},
                   {"changed_nothing", proof.changed_nothing},
                   {"variables", std::move(variables)},
                   {"cells", std::move(cells)},
                   {"notes", proof.notes}});
  }
  return all;
}

} // namespace ncclprobe::analysis

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/cell_label.h"

#include "base/number_list.h"

#include <fmt/ranges.h>

namespace ncclprobe::model {
namespace {

using Words = std::vector<std::string>;

std::string name_of(const CollectiveLabel& label) {
  return std::string(to_string(label.collective));
}
std::string name_of(const EmptyKernelLabel&) {
  return "empty_kernel";
}
std::string name_of(const P2pLabel& label) {
  return fmt::format("p2p_{}", to_string(label.method));
}
std::string name_of(const StepLabel& label) {
  return fmt::format("{}_step", to_string(label.options.pattern));
}

Words words_of(const CollectiveLabel& label) {
  Words words;
  if (label.launch == Launch::graph)
    words.emplace_back("graph");
  if (label.memory == Memory::registered)
    words.emplace_back("registered");
  if (label.split > 1)
    words.push_back(fmt::format("split={}", label.split));
  if (label.streams > 1)
    words.push_back(fmt::format("streams={}", label.streams));
  if (label.priority != 0)
    words.push_back(fmt::format("priority={}", label.priority));
  if (label.offset > 0)
    words.push_back(fmt::format("offset={}", label.offset));
  return words;
}

Words words_of(const EmptyKernelLabel& label) {
  return label.launch == Launch::graph ? Words{"graph"} : Words{};
}

Words words_of(const P2pLabel& label) {
  Words words;
  if (label.mode == P2pMode::ipc)
    words.emplace_back(to_string(label.mode));
  words.emplace_back(to_string(label.direction));
  for (const P2pTransfer& one : label.transfers)
    words.push_back(to_string(one.from) + ">" + to_string(one.to));
  return words;
}

Words words_of(const StepLabel& label) {
  Words words{label.model, "ranks=" + base::format_number_list(label.ranks)};
  if (label.options.pattern != StepPattern::replay)
    words.push_back(fmt::format("batch={}", label.batch));
  if (label.sequence > 0)
    words.push_back(fmt::format("sequence={}", label.sequence));
  words.push_back(fmt::format("parts={}", to_string(label.parts)));
  for (std::string& option : label.options.words())
    words.push_back(std::move(option));
  return words;
}

} // namespace

int timed_rank(P2pMethod method, const P2pTransfer& transfer) {
  switch (method) {
  case P2pMethod::ce_read:
  case P2pMethod::sm_read:
  case P2pMethod::sendrecv:
    return transfer.to.rank;
  default:
    return transfer.from.rank;
  }
}

std::string to_string(const P2pEnd& end) {
  return (end.host ? "h" : "") + std::to_string(end.rank);
}

std::string CellLabel::workload() const {
  return std::visit([](const auto& one) { return name_of(one); }, what);
}

std::string CellLabel::variant() const {
  return std::visit(
      [](const auto& one) { return fmt::format("{}", fmt::join(words_of(one), " ")); }, what);
}

} // namespace ncclprobe::model

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/p2p_label.h"

#include "model/parse_enum.h"
#include "workload/label_words.h"

#include <charconv>

namespace ncclprobe::workload {
namespace {

constexpr std::string_view k_p2p_prefix = "p2p_";
constexpr std::string_view k_ipc = "ipc";

std::optional<P2pEnd> read_end(std::string_view text) {
  P2pEnd end;
  end.host = text.starts_with('h');
  text.remove_prefix(end.host ? 1 : 0);
  auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), end.rank);
  if (error != std::errc{} || after != text.data() + text.size() || end.rank < 0)
    return std::nullopt;
  return end;
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

model::CellLabel make_cell_label(const P2pLabel& label, std::uint64_t bytes, model::DataType type) {
  model::CellLabel cell;
  cell.workload = std::string(k_p2p_prefix) + std::string(model::to_string(label.method));
  cell.bytes = bytes;
  cell.type = type;
  cell.variant = (label.mode == P2pMode::ipc ? std::string(k_ipc) + " " : "") +
                 std::string(model::to_string(label.direction));
  for (const P2pTransfer& one : label.transfers)
    cell.variant += " " + to_string(one.from) + ">" + to_string(one.to);
  return cell;
}

std::optional<P2pLabel> read_p2p_label(const model::CellLabel& cell) {
  if (!cell.workload.starts_with(k_p2p_prefix))
    return std::nullopt;
  P2pLabel label;
  auto method = model::parse_enum<P2pMethod>(cell.workload.substr(k_p2p_prefix.size()), "method");
  std::vector<std::string_view> words = words_of(cell.variant);
  if (!words.empty() && words.front() == k_ipc) {
    label.mode = P2pMode::ipc;
    words.erase(words.begin());
  }
  if (!method || words.empty())
    return std::nullopt;
  auto direction = model::parse_enum<P2pDirection>(words.front(), "direction");
  if (!direction)
    return std::nullopt;
  label.method = *method;
  label.direction = *direction;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t arrow = words[i].find('>');
    if (arrow == std::string_view::npos)
      return std::nullopt;
    auto from = read_end(words[i].substr(0, arrow));
    auto to = read_end(words[i].substr(arrow + 1));
    if (!from || !to)
      return std::nullopt;
    label.transfers.push_back({*from, *to});
  }
  return label;
}

} // namespace ncclprobe::workload

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/health_codes.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

const std::vector<Xid>& xids() {
  static const std::vector<Xid> all = [] {
    std::vector<std::string> sources;
    for (const auto& key : section("xids", "sources"))
      sources.push_back(source_text(key.get<std::string>()));
    std::vector<Xid> made;
    for (const auto& one : section("xids", "xids"))
      made.push_back({one.at("xid"), text_of(one, "mnemonic"), text_of(one, "meaning"),
                      text_of(one, "immediate"), text_of(one, "investigatory"),
                      text_of(one, "advice"), text_of(one, "cause"), one.at("certain"),
                      text_of(one, "when"), sources});
    return made;
  }();
  return all;
}

const Xid* xid(int number) {
  for (const Xid& one : xids())
    if (one.number == number)
      return &one;
  return nullptr;
}

std::string action_text(const std::string& action) {
  if (action.empty())
    return "NVIDIA's catalogue names no action";
  if (action == "RESTART_APP")
    return "restart the application";
  if (action == "RESET_GPU")
    return "drain the node and reset the GPU";
  if (action == "RESTART_BM")
    return "restart the node";
  if (action == "RESTART_VM")
    return "restart the virtual machine";
  if (action == "IGNORE")
    return "nothing at once";
  if (action == "CONTACT_SUPPORT")
    return "report it to the machine's support";
  if (action == "UPDATE_SWFW")
    return "update software and firmware";
  if (action == "CHECK_MECHANICALS")
    return "check cables and seating";
  return "follow " + action + " of NVIDIA's catalogue";
}

const std::vector<ClockEventReason>& clock_event_reasons() {
  static const std::vector<ClockEventReason> all = [] {
    std::vector<ClockEventReason> made;
    for (const auto& one : section("health", "clock_event_reasons"))
      made.push_back({std::stoull(text_of(one, "bit"), nullptr, 16), text_of(one, "name"),
                      text_of(one, "short"), text_of(one, "severity"), text_of(one, "meaning")});
    return made;
  }();
  return all;
}

} // namespace ncclprobe::knowledge

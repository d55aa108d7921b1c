// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/health_codes.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

const std::vector<Xid>& xids() {
  static const std::vector<Xid> all = [] {
    std::vector<Xid> made;
    for (const auto& one : section("health", "xids"))
      made.push_back({one.at("xid"), text_of(one, "mnemonic"), text_of(one, "immediate"),
                      text_of(one, "meaning"), text_of(one, "advice"), texts_of(one, "sources")});
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

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/health_codes.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

NCCLPROBE_PARTLY_LENIENT_FIELDS(XidMeaning,
                                (number, mnemonic, meaning, immediate, investigatory, certain),
                                (advice, cause, when))

const std::vector<XidMeaning>& xids() {
  static const std::vector<XidMeaning> all = [] {
    std::vector<std::string> sources;
    for (const auto& key : section("xids", "sources"))
      sources.push_back(source_text(key.get<std::string>()));
    auto made = rows<XidMeaning>("xids", "xids");
    for (XidMeaning& one : made)
      one.sources = sources;
    return made;
  }();
  return all;
}

const XidMeaning* xid(int number) {
  auto found = std::ranges::find(xids(), number, &XidMeaning::number);
  return found == xids().end() ? nullptr : &*found;
}

std::string action_text(const std::string& action) {
  static const std::map<std::string, std::string> texts{
      {"", "NVIDIA's catalogue names no action"},
      {"RESTART_APP", "restart the application"},
      {"RESET_GPU", "drain the node and reset the GPU"},
      {"RESTART_BM", "restart the node"},
      {"RESTART_VM", "restart the virtual machine"},
      {"IGNORE", "nothing at once"},
      {"CONTACT_SUPPORT", "report it to the machine's support"},
      {"UPDATE_SWFW", "update software and firmware"},
      {"CHECK_MECHANICALS", "check cables and seating"}};
  auto found = texts.find(action);
  return found == texts.end() ? "follow " + action + " of NVIDIA's catalogue" : found->second;
}

} // namespace ncclprobe::knowledge

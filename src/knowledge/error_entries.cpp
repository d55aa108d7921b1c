// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/error_entries.h"

#include "knowledge/document.h"
#include "knowledge/health_codes.h"
#include "knowledge/json_fields.h"

#include <algorithm>
#include <stdexcept>

namespace ncclprobe::knowledge {
namespace {

ErrorRole role_of(const std::string& text) {
  if (text == "cause")
    return ErrorRole::cause;
  if (text == "wrapper")
    return ErrorRole::wrapper;
  if (text == "consequence")
    return ErrorRole::consequence;
  throw std::logic_error("errors.json: unknown role " + text);
}

Severity severity_of(const std::string& text) {
  if (text == "info")
    return Severity::info;
  if (text == "warn")
    return Severity::warn;
  if (text == "fail")
    return Severity::fail;
  throw std::logic_error("errors.json: unknown severity " + text);
}

std::string xid_pattern(int number) {
  return fmt::format("Xid \\(PCI:[^)]*\\): {}\\b", number);
}

// What NVIDIA's catalogue says to do first.
std::string first_action(const Xid& xid) {
  if (xid.immediate == "RESTART_APP")
    return "restart the application";
  if (xid.immediate == "RESET_GPU")
    return "drain the node and reset the GPU";
  if (xid.immediate == "RESTART_BM")
    return "restart the node";
  if (xid.immediate == "IGNORE")
    return "nothing at once";
  if (xid.immediate == "CONTACT_SUPPORT")
    return "report it to the support of the machine";
  return "follow NVIDIA's workflow " + xid.immediate;
}

ErrorEntry entry_of(const Xid& xid) {
  ErrorEntry entry;
  entry.id = fmt::format("xid_{}", xid.number);
  entry.title = fmt::format("Xid {} ({}): {}", xid.number, xid.mnemonic, xid.meaning);
  // A clean-up after another error names nothing itself.
  bool follows = xid.number == 45 || xid.number == 154;
  entry.role = follows ? ErrorRole::consequence : ErrorRole::cause;
  entry.layer = xid.immediate == "RESTART_APP" ? "application" : "hardware";
  entry.severity = xid.immediate == "IGNORE" ? Severity::warn : Severity::fail;
  entry.match = {xid_pattern(xid.number)};
  entry.root_causes = {xid.meaning};
  entry.confirm = {"dmesg -T | grep -i xid on that host, also the lines before it"};
  entry.fix = {first_action(xid)};
  if (!xid.advice.empty())
    entry.note = xid.advice;
  for (const std::string& key : xid.sources)
    entry.sources.push_back(source_text(key));
  return entry;
}

bool covers_xid(const std::vector<ErrorEntry>& entries, int number) {
  return std::any_of(entries.begin(), entries.end(), [&](const ErrorEntry& one) {
    return std::any_of(one.match.begin(), one.match.end(), [&](const std::string& pattern) {
      if (pattern.find("Xid") == std::string::npos)
        return false;
      // "...: 79\b" or "...: (119|120)\b"
      std::string digits = std::to_string(number);
      for (const char* form : {" {}\\b", "({}|", "|{}|", "|{})"})
        if (pattern.find(fmt::format(fmt::runtime(form), digits)) != std::string::npos)
          return true;
      return false;
    });
  });
}

} // namespace

const std::vector<ErrorEntry>& error_entries() {
  static const std::vector<ErrorEntry> all = [] {
    std::vector<ErrorEntry> made;
    for (const auto& one : section("errors", "entries")) {
      ErrorEntry entry;
      entry.id = text_of(one, "id");
      entry.title = text_of(one, "title");
      entry.role = role_of(text_of(one, "role"));
      entry.layer = text_of(one, "layer");
      entry.phase = text_of(one, "phase");
      entry.severity = severity_of(text_of(one, "severity"));
      entry.match = texts_of(one, "match");
      entry.weak_match = texts_of(one, "weak_match");
      entry.symptom = text_of(one, "symptom_without_message");
      entry.root_causes = texts_of(one, "root_causes");
      entry.confirm = texts_of(one, "confirm");
      entry.fix = texts_of(one, "fix");
      entry.avoid = texts_of(one, "avoid");
      entry.note = text_of(one, "note");
      entry.sources = texts_of(one, "sources");
      made.push_back(std::move(entry));
    }
    for (const Xid& one : xids())
      if (!covers_xid(made, one.number))
        made.push_back(entry_of(one));
    return made;
  }();
  return all;
}

} // namespace ncclprobe::knowledge

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/log_causes.h"

#include "base/parse_enum.h"
#include "knowledge/document.h"
#include "knowledge/health_codes.h"
#include "knowledge/json_fields.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>

namespace ncclprobe::knowledge {
namespace {

// One document per subject: data/causes_driver.json and so on.
constexpr std::array k_subjects = {"driver",  "gpu",      "container", "cuda",   "nccl",
                                   "network", "launcher", "pytorch",   "system", "libraries"};

// The cause for an Xid without a known meaning.
constexpr const char* k_unknown_xid = "unknown-xid";

struct CauseRow : LogCause {
  std::vector<LogSign> proof, fit; // as in the document
};

LogCause cause_of(CauseRow row) {
  for (LogSign& sign : row.proof)
    sign.proves = true;
  row.signs = std::move(row.proof);
  row.signs.insert(row.signs.end(), row.fit.begin(), row.fit.end());
  return row;
}

// "NVRM: Xid (PCI:0000:41:00): 79, pid=..."; an Xid 45 that names the Xid it follows from; a line
// of the Kubernetes device plugin. One expression covers many numbers, because each expression
// costs memory.
LogSign sign_of_xids(const std::string& numbers, const std::string& when, bool proves) {
  LogSign sign;
  sign.line = fmt::format("Xid \\([^)]*\\): ({0})\\b{1}|caused by previous Xid ({0})\\b|"
                          "XidCriticalError: Xid=({0})\\b",
                          numbers, when.empty() ? "" : ".*" + when);
  sign.proves = proves;
  return sign;
}

void add_xid_signs(LogCause& cause) {
  std::map<std::pair<std::string, bool>, std::string>
      numbers; // by the further text that the line must contain
  for (const XidMeaning& one : xids())
    if (one.cause == cause.id) {
      std::string& list = numbers[{one.when, one.certain}];
      list += (list.empty() ? "" : "|") + std::to_string(one.number);
    }
  for (const auto& [condition, list] : numbers)
    cause.signs.push_back(sign_of_xids(list, condition.first, condition.second));
}

LogCause cause_of(const XidMeaning& xid) {
  constexpr int k_cleanup = 45; // a consequence of another Xid
  LogCause cause;
  cause.id = fmt::format("xid-{}", xid.number);
  cause.title = fmt::format("Xid {} ({}): {}", xid.number, xid.mnemonic, xid.meaning);
  cause.role = xid.number == k_cleanup ? CauseRole::consequence : CauseRole::cause;
  cause.layer = "hardware";
  cause.severity = xid.immediate == "IGNORE" || xid.immediate.empty() ? CauseSeverity::warn
                                                                      : CauseSeverity::fail;
  cause.signs = {sign_of_xids(std::to_string(xid.number), xid.when, xid.certain)};
  cause.because = {xid.meaning};
  cause.check = {"dmesg -T | grep -i xid on that host, and the lines before the Xid"};
  cause.fix = {action_text(xid.immediate)};
  cause.note = xid.advice;
  cause.sources = xid.sources;
  return cause;
}

// Its expression matches every Xid except the numbers with a known meaning.
void leave_known_xids_out(LogCause& unknown) {
  std::string known;
  for (const XidMeaning& one : xids())
    if (one.cause != unknown.id)
      known += (known.empty() ? "" : "|") + std::to_string(one.number);
  for (LogSign& sign : unknown.signs)
    sign.unless = fmt::format("Xid( \\([^)]*\\): |=)({})\\b", known);
}

} // namespace

NCCLPROBE_LENIENT_FIELDS(LogSign, line, unless, with, without, transport, severity)
NCCLPROBE_PARTLY_LENIENT_FIELDS(CauseRow,
                                (id, title, role, layer, severity, because, check, fix, sources),
                                (proof, fit, avoid, note, explains, leads_to, last_resort))
// A plain text is a line without conditions.
static void read_as(base::Reader& in, LogSign& sign) {
  if (!in.is_object()) {
    sign.line = in.text();
    return;
  }
  in.object();
  read_fields(in, sign);
  in.end();
}

static std::vector<LogCause> read_causes() {
  std::vector<LogCause> all;
  for (const char* subject : k_subjects)
    for (CauseRow& one : rows<CauseRow>(fmt::format("causes_{}", subject), "causes")) {
      all.push_back(cause_of(std::move(one)));
      if (all.back().id == k_unknown_xid)
        leave_known_xids_out(all.back());
      else
        add_xid_signs(all.back());
    }
  for (const XidMeaning& xid : xids())
    if (xid.cause.empty())
      all.push_back(cause_of(xid));
  return all;
}

const std::vector<LogCause>& log_causes() {
  static const std::vector<LogCause> all = read_causes();
  return all;
}

} // namespace ncclprobe::knowledge

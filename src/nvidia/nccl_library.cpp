// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nccl_library.h"

#include "nvidia/cuda_error.h"

#include <cctype>

namespace ncclprobe::nvidia {
namespace {

// 22809 -> "2.28.9"; up to 2.8 the minor number had one digit less (2708 = 2.7.8).
std::string version_text(int code) {
  int major_unit = code >= 10000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", code / major_unit, code % major_unit / 100, code % 100);
}

constexpr int k_oldest_version = 21000;

// "comm_init_rank(&comms[i], size)" -> "ncclCommInitRank(&comms[i], size)": users know NCCL's
// names. Other text stays unchanged.
std::string nccl_name(std::string_view call) {
  std::string_view member = call.substr(0, call.find('('));
  if (member.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string_view::npos)
    return std::string(call);
  std::string name = "nccl";
  bool starts_word = true;
  for (char c : member) {
    if (c != '_')
      name += starts_word ? static_cast<char>(std::toupper(c)) : c;
    starts_word = c == '_';
  }
  return name.append(call.substr(member.size()));
}

int version_number(const SharedLibrary& library) {
  decltype(&ncclGetVersion) get_version = library.require("ncclGetVersion");
  int code = 0;
  if (get_version(&code) != ncclSuccess)
    raise(Errc::unsupported, "{} does not report its NCCL version", library.path());
  if (code < k_oldest_version)
    raise(Errc::unsupported, "NCCL {} at {} is too old: 2.10 or later is needed",
          version_text(code), library.path());
  return code;
}

} // namespace

NcclLibrary::NcclLibrary(const backend::Options& options)
    : library("NCCL", library_candidates(options, "nccl", {"libnccl.so.2", "libnccl.so"})),
      version_code(version_number(library)), version(version_text(version_code)) {}

void raise_nccl(const NcclLibrary& nccl, ncclResult_t code, const char* call, const char* file,
                int line) {
  std::string text = fmt::format("NCCL {}: {} failed: {} ({})", nccl.version, nccl_name(call),
                                 nccl.get_error_string(code), static_cast<int>(code));
  // NCCL's own sentence about the cause. There is one per process, whichever communicator is asked.
  const char* last = nccl.get_last_error != nullptr ? nccl.get_last_error(nullptr) : nullptr;
  if (last != nullptr && *last != '\0') {
    std::string words = last;
    while (!words.empty() && (words.back() == '\n' || words.back() == ' '))
      words.pop_back();
    text += ": " + words;
  }
  text += fmt::format(" [{}:{}]", base_name(file), line);
  const Errc kind = code == ncclRemoteError ? Errc::peer_ended : Errc::failed;
  throw Exception(Error{kind, std::move(text), "NCCL_DEBUG=WARN shows more"});
}

} // namespace ncclprobe::nvidia

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "stacks/process_stacks.h"

#include "base/function_name.h"
#include "base/text_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elfutils/libdwfl.h>
#include <filesystem>
#include <memory>

namespace ncclprobe::stacks {
namespace {

namespace fs = std::filesystem;
using base::Errc;

constexpr std::size_t k_most_frames = 64;

using Session = std::unique_ptr<Dwfl, decltype(&dwfl_end)>;

fs::path folder_of(pid_t process, pid_t thread) {
  return fs::path("/proc") / std::to_string(process) / "task" / std::to_string(thread);
}

// Names of functions come from the programs and libraries alone: files with debug information are
// large, and elfutils would ask servers for them.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
  return -1;
}

// A thread in an uninterruptible call, of a GPU's driver for example, does not answer ptrace, and
// who asks it waits with it.
bool can_stop(const fs::path& thread) {
  const std::string stat = base::text_of(thread / "stat");
  const std::size_t state = stat.rfind(") ");
  return state != std::string::npos && state + 2 < stat.size() && stat[state + 2] != 'D';
}

std::string frame_text(Dwfl_Module* module, Dwarf_Addr address) {
  if (module == nullptr)
    return fmt::format("{:#x}", address);
  const char* path =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  const std::string file = path == nullptr ? "?" : fs::path(path).filename().string();
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name =
      dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  return name == nullptr ? file : fmt::format("{} ({})", base::function_name(name), file);
}

int add_frame(Dwfl_Frame* frame, void* into) {
  auto& frames = *static_cast<std::vector<std::string>*>(into);
  Dwarf_Addr address = 0;
  bool is_innermost = false;
  if (frames.size() == k_most_frames || !dwfl_frame_pc(frame, &address, &is_innermost))
    return DWARF_CB_ABORT;
  if (!is_innermost) // a return address may already belong to the next function
    --address;
  Dwfl* session = dwfl_thread_dwfl(dwfl_frame_thread(frame));
  frames.push_back(frame_text(dwfl_addrmodule(session, address), address));
  return DWARF_CB_OK;
}

int add_thread(Dwfl_Thread* thread, void* into) {
  auto& stacks = *static_cast<std::vector<ThreadStack>*>(into);
  const pid_t process = dwfl_pid(dwfl_thread_dwfl(thread));
  ThreadStack one{.thread = dwfl_thread_tid(thread), .name = "", .frames = {}};
  const fs::path folder = folder_of(process, one.thread);
  one.name = base::text_of(folder / "comm");
  while (!one.name.empty() && one.name.back() == '\n')
    one.name.pop_back();
  if (can_stop(folder))
    dwfl_thread_getframes(thread, add_frame, &one.frames); // ends early where a frame is unknown
  if (one.thread == process)
    stacks.insert(stacks.begin(), std::move(one));
  else
    stacks.push_back(std::move(one));
  return DWARF_CB_OK;
}

} // namespace

base::Result<std::vector<ThreadStack>> stacks_of(pid_t process) {
  constexpr Dwfl_Callbacks k_callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                       .find_debuginfo = no_debug_file,
                                       .section_address = nullptr,
                                       .debuginfo_path = nullptr};
  const Session session(dwfl_begin(&k_callbacks), dwfl_end);
  std::error_code trouble;
  if (!fs::exists(fs::path("/proc") / std::to_string(process), trouble))
    return base::fail(Errc::not_found, "there is no process {}", process);
  int problem = session ? dwfl_linux_proc_report(session.get(), process) : -1;
  dwfl_report_end(session.get(), nullptr, nullptr);
  if (problem == 0)
    problem = dwfl_linux_proc_attach(session.get(), process, false);
  std::vector<ThreadStack> stacks;
  if (problem == 0 && dwfl_getthreads(session.get(), add_thread, &stacks) == -1)
    problem = -1;
  const char* words = problem > 0 ? std::strerror(problem) : dwfl_errmsg(-1);
  const bool allowed = std::ranges::any_of(stacks, [&](const ThreadStack& one) {
    return !one.frames.empty() || !can_stop(folder_of(process, one.thread));
  });
  if (problem != 0 || !allowed)
    return base::fail({Errc::unavailable,
                       fmt::format("the stacks of process {} cannot be read: {}", process,
                                   words == nullptr ? "unknown reason" : words),
                       "run as the user of the job or as root; in containers allow SYS_PTRACE; "
                       "kernel.yama.ptrace_scope must be 0"});
  return stacks;
}

} // namespace ncclprobe::stacks

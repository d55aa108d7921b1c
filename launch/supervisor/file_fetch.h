// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"
#include "launch/supervisor/supervisor_message.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Files that a supervisor wrote on a disk of its own host come to the leader's, to the same path,
// piece by piece. Where both see one disk nothing travels.
namespace ncclprobe::launch {

// The leader's side.
class FileFetch {
public:
  using Tell = std::function<void(int supervisor, MessageBody)>;
  explicit FileFetch(Tell tell) : tell_(std::move(tell)) {}

  // `files` lie at these paths where supervisor `from` runs.
  void begin(int from, const std::vector<std::string>& files);
  // What cannot be had, or written, is logged and stays where it is.
  void take(int from, const FilePiece& piece);
  bool waits() const { return !awaited_.empty(); }
  // What has not come, by supervisor: it stays where it is, and nothing half is left here.
  std::set<std::pair<int, std::string>> give_up();
  bool waits_for(int supervisor) const;

private:
  struct Arriving {
    std::optional<base::AtomicFile> file; // once the first piece is here
    std::uint64_t bytes = 0;
  };
  static base::Result<void> add(Arriving& to, const FilePiece& piece);

  Tell tell_;
  std::map<std::pair<int, std::string>, Arriving> awaited_;
};

// The other's.
class FileSource {
public:
  FilePiece read(const SendPiece& wanted);
  // The leader has it all: it is removed. Not if it is another file than was read: then both see
  // one disk after all.
  void drop(const DropFile& whole);
  // Those that files were removed from, once nobody will put any there.
  void remove_empty_folders();

private:
  using Identity = std::pair<unsigned long, unsigned long>; // device and inode
  std::map<std::string, Identity> read_;
  std::set<std::string> folders_;
};

} // namespace ncclprobe::launch

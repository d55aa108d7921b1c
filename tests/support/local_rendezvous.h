// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ncclprobe::support {

// For ranks that live in this process, as members of one connect() or as threads: exchange()
// returns when the contributions of all members are there.
class LocalRendezvous : public backend::Rendezvous {
public:
  std::vector<std::string> exchange(const std::string& key, const std::vector<int>& members,
                                    const std::map<int, std::string>& own) override {
    std::unique_lock lock(mutex_);
    auto& contributions = by_key_[key];
    for (const auto& [rank, bytes] : own)
      contributions[rank] = bytes;
    arrived_.notify_all();
    arrived_.wait(lock, [&] { return contributions.size() == members.size(); });
    std::vector<std::string> all;
    for (int rank : members)
      all.push_back(contributions.at(rank));
    return all;
  }

private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::string, std::map<int, std::string>> by_key_;
};

} // namespace ncclprobe::support

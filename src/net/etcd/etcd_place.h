// Where in an etcd a job's state is, as people write it: etcd://HOST:PORT[,HOST:PORT...]/PREFIX, or etcds://
// with TLS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/state_tls.h"
#include "thalweg/status.h"

namespace thalweg {

struct EtcdPlace {
  std::vector<std::string> endpoints;  // "http://127.0.0.1:2379"
  std::string prefix;                  // Of all keys, without a slash at its ends.
  StateTls tls;
};

// Whether it is meant to be one, right or wrong; else it is a directory.
bool is_etcd_place(std::string_view text);
// kUsage names what is wrong.
Result<EtcdPlace> parse_etcd_place(std::string_view text, const StateTls& tls = {});

}  // namespace thalweg

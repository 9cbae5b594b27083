// An etcd of a test's own: a process on a free port, with its data in a folder that goes with it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "net/etcd/etcd_store.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {

class EtcdForTest {
 public:
  explicit EtcdForTest(bool secure = false) : port_(port_for_this_test()), peers_(port_for_this_test()) {
    place_.endpoints = {address(secure)};
    place_.prefix = "jobs/test";
    if (secure) {
      make_certificates();
      place_.tls = client("client");
    }
    start();
  }
  ~EtcdForTest() { kill(); }
  EtcdForTest(const EtcdForTest&) = delete;
  EtcdForTest& operator=(const EtcdForTest&) = delete;

  void start() {
    pid_ = ::fork();
    if (pid_ == 0) run();
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void forget_all() {
    kill();
    std::filesystem::remove_all(folder_ / "data");
    start();
  }
  // It answers nothing any more; a signal alone takes its time where the machine is busy.
  void pause() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  void go_on() const { ::kill(pid_, SIGCONT); }

  const EtcdPlace& place() const { return place_; }
  StateTls client(const std::string& name) const {
    return {folder_ / "ca.pem", folder_ / (name + ".pem"), folder_ / (name + ".key")};
  }
  std::string address(bool secure = false) const {
    return (secure ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  // Of what a store does not ask for.
  Result<std::string> ask(const std::string& path, const std::string& body) const {
    auto http = HttpClient::make(place_.tls);
    if (!http) return http.status();
    const auto answer = (*http)->post(place_.endpoints.front() + path, body, std::chrono::seconds(9));
    if (!answer) return answer.status();
    return answer->code == 200 ? Result<std::string>(answer->body)
                               : etcd::error_of(answer->code, answer->body);
  }
  // Once it answers.
  std::unique_ptr<EtcdStore> open(EtcdLimits limits = {}) const {
    auto store = EtcdStore::open(place_, {limits.answer, std::chrono::seconds(30)});
    if (store) store = EtcdStore::open(place_, limits);
    EXPECT_TRUE(store.ok()) << store.status().message() << "\n" << read_text(folder_ / "log");
    return store ? *std::move(store) : nullptr;
  }

 private:
  [[noreturn]] void run() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = ::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(log, 1), ::dup2(log, 2);
    const std::string peers = "http://127.0.0.1:" + std::to_string(peers_),
                      clients = place_.endpoints.front();
    std::vector<std::string> words = {"etcd",
                                      "--data-dir",
                                      folder_ / "data",
                                      "--listen-client-urls",
                                      clients,
                                      "--advertise-client-urls",
                                      clients,
                                      "--listen-peer-urls",
                                      peers,
                                      "--initial-advertise-peer-urls",
                                      peers,
                                      "--initial-cluster",
                                      "default=" + peers};
    if (clients.starts_with("https")) {
      for (const std::string& word : {std::string("--client-cert-auth"), std::string("--trusted-ca-file"),
                                      folder_ / "ca.pem", std::string("--cert-file"), folder_ / "server.pem",
                                      std::string("--key-file"), folder_ / "server.key"})
        words.push_back(word);
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp("etcd", arguments.data());
    (void)!::write(2, "there is no program etcd: install etcd-server\n", 46);
    ::_exit(127);
  }

  // A CA, what it has signed, and a "stranger" whom another one has signed.
  void make_certificates() const {
    const std::string script =
        "cd '" + (folder_ / ".") +
        "' && exec >openssl.log 2>&1 && set -e\n"
        "key() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }\n"
        "ca() { key $1; openssl req -x509 -new -key $1.key -subj /CN=$1 -days 9 -out $1.pem; }\n"
        "sign() { key $1; openssl req -new -key $1.key -subj /CN=$1 -out $1.csr; printf "
        "'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' >$1.ext\n"
        "openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days 9 -extfile $1.ext -out "
        "$1.pem; }\n"
        "ca ca; ca other; sign server ca; sign client ca; sign stranger other\n";
    ASSERT_EQ(std::system(script.c_str()), 0) << read_text(folder_ / "openssl.log");
  }

  TemporaryFolder folder_;
  std::uint16_t port_, peers_;
  EtcdPlace place_;
  pid_t pid_ = 0;
};

}  // namespace thalweg

#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tunebench/base/error.h"

namespace tunebench::store {

/// Stands between a client and a PostgreSQL server, both at sockets in folders, and cuts
/// connections: what a server looks like that is stopped and started, or a network that breaks.
/// For tests.
class CutProxy {
 public:
  CutProxy(const std::filesystem::path& folder, const std::filesystem::path& server_folder)
      : server_(server_folder / kSocket),
        listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(folder / kSocket);
    if (bind(listener_, as_general(address), sizeof address) != 0 || listen(listener_, 16) != 0) {
      throw Error(ErrorCode::Io, "proxy");
    }
    thread_ = std::thread([this] { work(); });
  }
  ~CutProxy() {
    ended_ = true;
    thread_.join();
    cut_all();
    close(listener_);
  }
  CutProxy(const CutProxy&) = delete;
  CutProxy& operator=(const CutProxy&) = delete;

  /// Cuts all connections and takes no new ones until it is false again.
  void set_away(bool away) { away_ = away; }
  /// The server gets the next COMMIT, the client never hears of its end.
  void lose_next_answer_to_commit() { lose_ = true; }
  /// The client's next COMMIT does not reach the server.
  void lose_next_commit() { swallow_ = true; }
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  static constexpr const char* kSocket = ".s.PGSQL.5432";
  struct Pair {
    int client = -1;
    int server = -1;
    bool cut_at_answer = false;
  };

  static sockaddr_un address_of(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }
  static const sockaddr* as_general(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);  // NOLINT: what bind(2) wants
  }

  void work() {
    while (!ended_) {
      if (away_) {
        cut_all();
      }
      std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        waiting.push_back({pair.client, POLLIN, 0});
        waiting.push_back({pair.server, POLLIN, 0});
      }
      if (poll(waiting.data(), waiting.size(), 10) <= 0) {
        continue;
      }
      std::size_t place = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); place += 2) {
        const bool goes_on = (waiting[place].revents == 0 || from_client(*pair)) &&
                             (waiting[place + 1].revents == 0 || from_server(*pair));
        pair = goes_on ? std::next(pair) : cut(pair);
      }
      if (waiting[0].revents != 0) {
        take_in();
      }
    }
  }

  void take_in() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(server_);
    if (away_ || connect(server, as_general(address), sizeof address) != 0) {
      close(client);
      close(server);
      return;
    }
    pairs_.push_back({client, server});
  }

  bool from_client(Pair& pair) {
    std::array<char, 65536> bytes{};
    const ssize_t count = read(pair.client, bytes.data(), bytes.size());
    if (count <= 0) {
      return false;
    }
    const std::string_view text(bytes.data(), static_cast<std::size_t>(count));
    if (text.find("COMMIT") != std::string_view::npos) {
      if (swallow_.exchange(false)) {
        return false;
      }
      pair.cut_at_answer = lose_.exchange(false);
    }
    return write(pair.server, bytes.data(), static_cast<std::size_t>(count)) == count;
  }

  static bool from_server(const Pair& pair) {
    std::array<char, 65536> bytes{};
    const ssize_t count = read(pair.server, bytes.data(), bytes.size());
    return count > 0 && !pair.cut_at_answer &&
           write(pair.client, bytes.data(), static_cast<std::size_t>(count)) == count;
  }

  std::list<Pair>::iterator cut(std::list<Pair>::iterator pair) {
    close(pair->client);
    close(pair->server);
    ++cuts_;
    return pairs_.erase(pair);
  }
  void cut_all() {
    while (!pairs_.empty()) {
      cut(pairs_.begin());
    }
  }

  std::filesystem::path server_;
  int listener_;
  std::list<Pair> pairs_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> away_ = false;
  std::atomic<bool> lose_ = false;
  std::atomic<bool> swallow_ = false;
  std::atomic<int> cuts_ = 0;
  std::thread thread_;
};

}  // namespace tunebench::store

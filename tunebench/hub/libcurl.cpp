#include "tunebench/hub/internal/libcurl.h"

#include "tunebench/base/error.h"
#include "tunebench/base/shared_library.h"

namespace tunebench::hub {
namespace {

Libcurl load_curl() {
  const SharedLibrary library("libcurl.so.4", "fetching models needs libcurl", "libcurl4");
  Libcurl api{};
#define TB_LOAD(name) library.load(#name, api.name)
  TB_LOAD(curl_easy_cleanup);
  TB_LOAD(curl_easy_getinfo);
  TB_LOAD(curl_easy_init);
  TB_LOAD(curl_easy_perform);
  TB_LOAD(curl_easy_setopt);
  TB_LOAD(curl_easy_strerror);
  TB_LOAD(curl_free);
  TB_LOAD(curl_global_init);
  TB_LOAD(curl_slist_append);
  TB_LOAD(curl_slist_free_all);
  TB_LOAD(curl_url);
  TB_LOAD(curl_url_cleanup);
  TB_LOAD(curl_url_get);
  TB_LOAD(curl_url_set);
#undef TB_LOAD
  if (api.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    throw Error(ErrorCode::Unsupported, "libcurl.so.4 cannot be used");
  }
  return api;
}

}  // namespace

const Libcurl& Libcurl::loaded() {
  static const Libcurl api = load_curl();
  return api;
}

}  // namespace tunebench::hub

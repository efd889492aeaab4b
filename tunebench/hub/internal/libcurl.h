#pragma once

// The types of the library, for decltype only: it is loaded when something is to be fetched.
#include <curl/curl.h>

namespace tunebench::hub {

/// The functions of libcurl that are used. Loaded once and kept, as store/internal/libpq.h does and
/// for the same reason: twenty further libraries at every start, of which most fetch nothing.
struct Libcurl {
#define TB_LIBCURL_FUNCTION(name) decltype(&::name) name
  TB_LIBCURL_FUNCTION(curl_easy_cleanup);
  TB_LIBCURL_FUNCTION(curl_easy_getinfo);
  TB_LIBCURL_FUNCTION(curl_easy_init);
  TB_LIBCURL_FUNCTION(curl_easy_perform);
  TB_LIBCURL_FUNCTION(curl_easy_setopt);
  TB_LIBCURL_FUNCTION(curl_easy_strerror);
  TB_LIBCURL_FUNCTION(curl_free);
  TB_LIBCURL_FUNCTION(curl_global_init);
  TB_LIBCURL_FUNCTION(curl_slist_append);
  TB_LIBCURL_FUNCTION(curl_slist_free_all);
  TB_LIBCURL_FUNCTION(curl_url);
  TB_LIBCURL_FUNCTION(curl_url_cleanup);
  TB_LIBCURL_FUNCTION(curl_url_get);
  TB_LIBCURL_FUNCTION(curl_url_set);
#undef TB_LIBCURL_FUNCTION
  /// Errors: Unsupported with the package to install when the library is not there. Thread-safe.
  static const Libcurl& loaded();
};

}  // namespace tunebench::hub

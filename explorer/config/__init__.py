"""Where files are stored, and which server is used.

CATALOG_URL         the server for every command, the terminal and the notebook
CATALOG_PROFILE     or a server by the name of its profile
CATALOG_TOKEN       the access token for that server, or for the one used if neither is set
CATALOG_DATA_DIR    the directory of the embedded catalog; if set, it precedes the current profile
CATALOG_STATE_DIR   the directory of logs, drafts and the state of front ends
CATALOG_CONFIG_DIR  the directory of the profiles
CATALOG_CACHE_DIR   the directory of answers that are cached for working offline
CATALOG_DRAFTING_COMMAND  a command that drafts descriptions; precedes that of a profile

If none of these names a server and no profile is current, the settings of DataHub's tools apply:
DATAHUB_GMS_URL (or DATAHUB_GMS_HOST, DATAHUB_GMS_PORT and DATAHUB_GMS_PROTOCOL) with
DATAHUB_GMS_TOKEN, and the file ~/.datahubenv unless DATAHUB_SKIP_CONFIG is true.
"""

from explorer.config.catalogs import note_catalog, state_keys, state_name
from explorer.config.files import cache_dir, config_dir, data_dir, state_dir
from explorer.config.servers import (
    EMBEDDED,
    ENVIRONMENT,
    NO_TOKEN,
    ConnectionProfile,
    ConnectionProfiles,
    Drafting,
    ServerSettings,
    SignIn,
    Signs,
    TokenSource,
    change_profiles,
    check_name,
    check_token,
    finds_by_meaning,
    forget_token,
    keep_meaning,
    keep_sign_in,
    keep_token,
    keep_user,
    profiles_file,
    read_profiles,
    server,
    token_of,
    user_of,
    user_urn,
)

__all__ = [
    "EMBEDDED",
    "ENVIRONMENT",
    "NO_TOKEN",
    "ConnectionProfile",
    "ConnectionProfiles",
    "Drafting",
    "ServerSettings",
    "SignIn",
    "Signs",
    "TokenSource",
    "cache_dir",
    "change_profiles",
    "check_name",
    "check_token",
    "config_dir",
    "data_dir",
    "finds_by_meaning",
    "forget_token",
    "keep_meaning",
    "keep_sign_in",
    "keep_token",
    "keep_user",
    "note_catalog",
    "profiles_file",
    "read_profiles",
    "server",
    "state_dir",
    "state_keys",
    "state_name",
    "token_of",
    "user_of",
    "user_urn",
]

/* SPDX-License-Identifier: ISC */
/* au_names - the names of RFC 4252 and its extensions, written once */
#ifndef AUTH_AU_NAMES_H
#define AUTH_AU_NAMES_H

#define AU_SERVICE             "ssh-userauth"
#define AU_NEXT_SERVICE        "ssh-connection"
#define AU_NONE                "none"
#define AU_PUBLICKEY           "publickey"
#define AU_PUBLICKEY_HOSTBOUND "publickey-hostbound-v00@openssh.com"
#define AU_PASSWORD            "password"
#define AU_KBDINT              "keyboard-interactive"
#define AU_EXT_HOSTBOUND       "publickey-hostbound@openssh.com"
#define AU_EXT_IN_AUTH         "ext-info-in-auth@openssh.com"
#define AU_EXT_SIG_ALGS        "server-sig-algs"

#endif

/* SPDX-License-Identifier: ISC */
/* PEM and PKCS #8 private keys: what is read, what is refused, and which error says why. */
#include "help.h"

/* Throw-away keys written by `openssl genrsa`, `ecparam`, `genpkey`, `pkcs8`; the passphrase is
 * "right". */
/* clang-format off */
static const char rsa_pem[] =
	"-----BEGIN RSA PRIVATE KEY-----\n"
	"MIICWwIBAAKBgQCg0n57uDL0ZDRs1hRxUxenkNgR2bNIKm8fwKhwBSu10JBIaY4c\n"
	"5HhoDR6U63XpY+dAaczOwN69+AkX/Z0xYiORotpD5SqV6eX8TifB6KNp1Xnh+0qe\n"
	"uTOgxpkCuSSpJNHGJset1GOu8QrLLUA/L22qXLOLp191JFiBJvFqVGGM6wIDAQAB\n"
	"AoGAL/s9U2o8gZ/X6FTi2oDBAPR9Eq5SCAjpCJ8xYeKZDPDB62jaxpH/voOTiTjL\n"
	"ACwXVad7PIBctG7pP6giGxa9p3/BitxPrfS8rjaVquAsVtjkSQGAF91BK8JDowhc\n"
	"pgvJ5Rz//0fU+CSb44RaaCQSWLSL5KD80Nm5aAOZ4LU2ZWECQQDQabJQ5eAf1/zs\n"
	"fkTMs2tYwe/QfFYqCmRl1B8XSdOrFetM+si8CAQGBEDGDXBsynpXxUI+x1PjnM3D\n"
	"ply7CzdxAkEAxYr+nc5MBYoJp93C8n8b9/813ziGeDxFuG6eNxazezolx/4ysoU5\n"
	"VP8uUc5eIZ43Heqyc8UAG75B2TugP4v0GwJAbjzKJgJBd3Z+gPUVHRV2HV+Por5x\n"
	"sREII9h8jYvuWxtf97ra/KJcxnXvcRLguZqr9csQDDbQx59EM03G1OTM8QJAVVRd\n"
	"+aKEGhxvYVCchg078psOFTcgds1qPGmj9B3dN4x9h28ZTR3ZDwsPYgznglQKcOTR\n"
	"Ysqk6lb7sK9d4DU/IwJAKPC0xOntys9yHLjJiHz2hWosoe5j5cKzhK2XExxkIs5p\n"
	"awGThLt6eDJOq7yZhWcH0h633xgJBvRz5rMVDefmQA==\n"
	"-----END RSA PRIVATE KEY-----\n";

static const char rsa_des3_pem[] =
	"-----BEGIN RSA PRIVATE KEY-----\n"
	"Proc-Type: 4,ENCRYPTED\n"
	"DEK-Info: DES-EDE3-CBC,5975449087D04FB2\n"
	"\n"
	"zxtXbkEcUtMlAiybbTGkgIhjBd3+bxdJ6qnjMwQEhlWyXgxDdcyx5H3tEp59eWsC\n"
	"/t4wHCE7jMmF8Clp+mKjkH9hc7hQq8zPYCu7tQgiqDz4Z/FqanJgnmgp+bKvxSdG\n"
	"IMOTiq7rkn6ZrQ3Qc/Ueevi8KPaxhVf8tgJ4GRfPdResBSeDi5FBNkt5qh+1hjSN\n"
	"MxI2/ZTSYYgEwgxu01hFPnW+kRI4KSpvpvz2W+9Qy3WD44xKGbbxuKM1iaoJXtOH\n"
	"n+g1PBT6QxFeIRBBXC26PXL5yBs0e+zMUG8DJVEZo8+ekJHUYhf1xFN86va7f9nb\n"
	"9nlLxvj7/MAJBG9V0Ie4CMVzxKEpaq7dMY5RNZwgVHozj+5dhWMvibcF6U5VPKk7\n"
	"gV3xlRGFukwVSi9D3luHKS+Hb2xRFaVERgmMe0ttqXQBIXuMU16IEd/dwrxcK9fJ\n"
	"noPpzhK6EaW2SgACI1Lxh4RFTnWjd5TRJpTQj4zmihbk7CNaJZsMG9w8lDa27FUD\n"
	"D1u3cd1lFnFQaAkCZy081AvvubsXOnSyKlBPRYZC5kg80vu+Z33mmtd1i8vGSKxo\n"
	"ki8cTr0lGa4b9rvTajmTQLxaOiq0OUv868dJPm38SVC+43K/m8g1wRIM2+V9UHKn\n"
	"+loxx7u56PiK4iSbq+FlhVrURKXUzyKnkzscXO1ljN+8gGf2Z4qm8AMzHNNGOOqN\n"
	"/FRVZ2nKBME8Bq1WkRNa4SLWtMVl2T4YUOSXBrMkvbGc16/ZgxFISFkRBU90JKKY\n"
	"m0UL3K8j7nLrBF6OfR4/Xmq2vDXMwZR912iCk+WMeKg=\n"
	"-----END RSA PRIVATE KEY-----\n";

static const char rsa_aes_pem[] =
	"-----BEGIN RSA PRIVATE KEY-----\n"
	"Proc-Type: 4,ENCRYPTED\n"
	"DEK-Info: AES-128-CBC,5F19A99E9D5FC7C16DD2314E241696F0\n"
	"\n"
	"gaEIkMhQHTEcNfqZSuqVG9M5DqXj5iJtxjXzQEkieKd7ZGP1C/WHNavqbw/EQOqx\n"
	"J4Voc2JVt7d6QJEJ2nE0l3TeOQje+IIOdifNVy4DooBLmA5yE7EANW1wpsoK6emR\n"
	"xhraJlOg+Q7G5yiZAx9fru+MlOgcEO0U05StIs4svZDG+ucYKJArl8WgUdVewiMK\n"
	"82W3WHO1Yftfvm4oGjTCJgFavOtPcvIKAFS/wchvBhbR5nP4IFU36kDjpWNTBNRr\n"
	"dCwRl6/WZmZbFOQOjavy6EniLWK8PWGhODdOJ+oPE3moHYxkfCQqAzhLEmznUS5v\n"
	"77GpC7iBD/c3BhkAZjJl+M1SQ+AGCa4NZPgJ+64W4sivEWfOwiZNFD3VdW2ZiZze\n"
	"tolTZE/dDE40czhveWlf3GnihuDkVC7wYqD5VLBovYR/7hEik9Y+4B8DH/DkL0VD\n"
	"qQ2bUMLgYp3pRh07oeOQKuWWGAxKSGTrB02lW9Z50bCn2mvPg0OLRWMw8uzyp/XY\n"
	"wTEVo6qNBWnTSLBuGoM4ixtlUAM7QUtsnAaIYnY6rdgwEoWI+FUqRnUnQ4a46Eyk\n"
	"ME/xXafuOIrKx4mNE205p1TTw+0MyPJLYnwbN3aJ7ZpG9OXpVrqYM96Xw1MofKOw\n"
	"7svbdlUNlYJGPQAl6OWvMA9oKEEbCM8F/kumXTB5ppIUqHd/IK80D8MnnH5Y8VSE\n"
	"7WIdX5I9dQG0LLsRr3+eHkkusNWlT3EAAjBYZV2cthAivbVn70GknOofBzRmcBG9\n"
	"n+9NgVWapP+spmjffhJn7H51yAezjiSFloiS7Lz/9Js=\n"
	"-----END RSA PRIVATE KEY-----\n";

static const char rsa_aes256_pem[] =
	"-----BEGIN RSA PRIVATE KEY-----\n"
	"Proc-Type: 4,ENCRYPTED\n"
	"DEK-Info: AES-256-CBC,6A65D4BD5E74C2D402BBF79214CAE658\n"
	"\n"
	"an/qdl/RN8dz7+j/we/79GKxkokQMcp+efdsyRKk7JTitAijRLw6ZjfqVlQmdtwN\n"
	"XfzFUd57pLArlEhHJmQpuETzPw1iMWnYl1VsCDS03wuiDpK+R7WZEo4afWlkZfjl\n"
	"LndwkCk2T+nMk25rPpIVIlo2oM112rY/hh+E77Wb49BZ+93bk7MLkzpVKUqZs4NF\n"
	"+p+p0WNpCnbe81m6bxJBXSduezut9NvWHPhmf07o/sbUsmHWSQL0abea831roX88\n"
	"0RzhFXlQNMqYAWBcaTgFPx9oRCE4/nnOnCqJx/MmZKKQfwGDA9iL5rCA/ueCeTnJ\n"
	"Jp0ds/qSofX0FuvxjoBqw3FMAOdohRzQ0ui15omNnED1ROvBPw6YXrOubVW7JFdJ\n"
	"S95Ie+UaPeTIZzMrPw8KqRL9yEQFbKsusukcaKCIZekZaN3Qnd6uDdF+VtQ4+oRO\n"
	"n6FFKsZbeoHqjT+XA9atC3A041Ce1hE3XWCJ9kn1O88f9YIBaB0qLHwDLzoRxmwu\n"
	"dFzOy/7bBb+NquIuWgvwcvpoj+uDV/KvO7Cd7Rpyza6B7MJcCULieeeymdfHLmTQ\n"
	"rEDOipOubk83rHYojk8tseMER5PY3ZVBOUsJdXuz4FSewm3fN/Dem9sj+g3hXdno\n"
	"VQ2dSOVoxzAxKjjVfbZmBwMngDUHH0icsMUHfDtccbB/W0udmJnc83fEEHUppqXO\n"
	"NEbYnxGPeYhwUp/w1Iu76waeQH1ujLtTUGr+ZD9nOy0onl7nS3u+qkq/uLWNREah\n"
	"dfHxnT7VGazwjZ8UENuRWQIgP9U5/0hRuNQiiMfHu4s=\n"
	"-----END RSA PRIVATE KEY-----\n";

static const char rsa_camellia_pem[] =
	"-----BEGIN RSA PRIVATE KEY-----\n"
	"Proc-Type: 4,ENCRYPTED\n"
	"DEK-Info: CAMELLIA-256-CBC,D334261284F6A796B00428E088BC44B3\n"
	"\n"
	"OjvRAxMcGuDhUGRJqij2CQTPpPozWQi620iCRh2Nu/BpuUuzznetXLBfKYsAmoTC\n"
	"xiJDxU1xgHhQqwwV9bljLcoEzlpsztoqIcxAa1kjKnVOlaxkmYTFeCLv7Pjm+Veh\n"
	"IbsfwrH1dopQDlAC9znTu05N5UpQf8HAEJHQU/uTqJdywh7OdcyMFGsY+Fp88RqW\n"
	"bl2X6A+P4TZ/iXbXIFKOBdYTZ/F0BO6NmKmnXVLByQFlyHXjQd+c/QcsM7+kYZzf\n"
	"BksxSGbL67/K/dvXuKjlfRTSDiAiBOF9kNzK1vWKjeF11s7vlbvQYAij60RJ53fH\n"
	"COBrnqWi+u70Yssdj+6iHfYpkcG0DkxAZuoLkGq7aIevBIj6Ff1llRS+GDHYmkgE\n"
	"x/u1aXOTZXLIdwGhLTdwoSk1DPjOxK4cDhqf3Cm2O16EykUXAqhb5NBEmkJ3ryBQ\n"
	"/zc+Cu1oFHFcMV5lDnhLhm2wtNF8m6BbCETeL+X3Xou1uItArn7qSXJ08xe+0I3D\n"
	"PtGkpQUctYS73mPWG2/1J9KaE49kybEobubEpa29/lf6tKAqMZr1oE4Y7JPDURpu\n"
	"OShwbISUA4AFsa/kya+FTrQ0im483Q5ZH3x1Zigyxvv3WnO8tNwYBEZZQT8fbYDQ\n"
	"fGniETa1MEVIU1QCmpTfhODXJBUukt9Zz6jk6A/QjpOXMjEFdkE6p3xNY6S6rY87\n"
	"nBMNpdN+CrcYCQ0AJzeO1XChGDG6goj28lX3ULpR5BYv9PVElaIPUAkN555DKJi7\n"
	"SogGy56FNhjj6c58YEybE3wso4Ob3ncL173sg6uWZ1Q=\n"
	"-----END RSA PRIVATE KEY-----\n";

static const char rsa_p8_pem[] =
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIIC3TBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIXyPl2S+k9YACAggA\n"
	"MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBC3007NTZHkEJe26Q/w5s2ZBIIC\n"
	"gDmnVX+NjI20OeZDHWLigtCJL4Rk6g52Dsjzb1vbulWTY79/lQ6qTBnXEwei0JPr\n"
	"/KRBnrCteNk40efXJzbzk27sov6eBb29duQkKXIyg9DKjAMjNKHPsOXQzrdBLeKo\n"
	"ZQttnrTyrilcMWuXshV/rQOX7khZe/unnXuD7hYp3C3zqp1siUeMxgieNSaeiWby\n"
	"O6gI6zbXjXRjwBkYtUgyompkMUeRdu+QL2IwqZletrdKtZtEyTeiIJkSgzsMUUoJ\n"
	"guPUmkpg1uRHm5d4+VzyRaDOH3+v8cxFezaT3pgU2krk3j/LTcun5ISFKNVkw47B\n"
	"cC5b+D4/BBq/2739iw4ZVq5L/eShoLG53Fn6eWd8WNJx3IvdF37yUi+uXKJ+fQ7J\n"
	"dRGIsT2BZLbbqe/XzDMO2xipkoO2RIHYcMXrmwsUoLyIGdC8TTg5fh7XO9dpX2kz\n"
	"+IK55Fqrs7OxwHknBUuperFliWmdFDy+kgjv8h6Kj01x65pluZKb2K3xpjnGJJwE\n"
	"FUi/sdGp1GQU3/8rzXolZDvHoAbz8l9e0QpRvdqNtWbiO7aNFcAeamFBeqSQoge0\n"
	"BVfCz75upjnp8/XBySLdjBai0i1McdxlT7nZsUqU9lmvs+PxURnSEGi90KcFeLMs\n"
	"pltB0grYdf3BIdTMzHp5bM0pK8zuek4cqAINKtAOz7DuThLKNp55vRgxTaUY+r4V\n"
	"bHh04N/KWAqRNu31EDc8iP1AVZsRCw5UIyPiAvSJjVgkq0DgaZQI/5RPK1p71sJI\n"
	"8FE3q7ka5fsnA/mP7WHwrHE6nuPZkTDvVSE8k34jatVphpVvcHvbc5/9n4HVjBhK\n"
	"JOk18SSkF1UUhtYHeClfpNQ=\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n";

static const char rsa_p8_des3_pem[] =
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIIC1DBOBgkqhkiG9w0BBQ0wQTApBgkqhkiG9w0BBQwwHAQITib5LfP4q3wCAggA\n"
	"MAwGCCqGSIb3DQIJBQAwFAYIKoZIhvcNAwcECG9lZ5hj7eltBIICgGspXGNkoucR\n"
	"6v4NxpwA9u6u0Qg6rpKkzQ8TS9Kp5W1m+bHjDpGDC0MiQ46rI2SFyFZLux/Q1PdQ\n"
	"f5nQxxyZvSfIm14v/maoQsgQ0M9Nxp8d62e5hMxJogXJqtc3vN+u5iLWrElwQHI8\n"
	"NPZXRHVZHELXMVut3rUi73/s8Ml0/Nb3F+4dOJxi7usxNsx1NHBXD8evIFEuXc1M\n"
	"U8jRDVArhxpxZc7OhYhCh/sptlXHOxM+T685YwrgTFINwVHu4AKbuRi84fPopaya\n"
	"Gb4w8KgRkj7rbHGjQXLasuBf/BKbi0IhZBp3TmEsQeasR7pmsUcwnx+xM0qyZaN1\n"
	"0LLq24faO0UTNhSG1SYixe1h2UuLk4KmQeO7ijJ8JLdZ1y1MhsbrbNIaX8ExiDI2\n"
	"1vjUBNatw2anWVvPToDs/9DLDAG+MxscRw0239JT/vfVIMEEYMyo/l8wrNYx8n+y\n"
	"j9A0JEo48HXkFo/WYvOFZptm+vikM5BhnIbT11bmOyM50bTKPML6URs6MFWAbFPe\n"
	"5a1W0S6EU15mGO17lYb85q0iLkcZKsgcGzR0QEL9Vq6af13kKFrFUa8Eyu+adbqH\n"
	"sLiKl6wIBQx+skcrgz5+ykL/SvEoB5PQhlx3IRciuaEuvRy9mbIR8IfnTA/CLvyi\n"
	"woDD03dV8pBjUncMrtL0jdMG1Pakpfyg9C4gGHMGt9KoI7haA9ZjkavVe73diG2g\n"
	"G6TCbqJKpB8HfiupG8DciQWrJpVPkzX1V6lCvpt0LkKRiiNVKi7+YCCEcuMAjk8z\n"
	"uGXPEXeGbv7hH87q5SeWscYhu+huTgyS5vtUEKTTCoc2rV+UB/URJzA8qHbHQiN7\n"
	"fquIciT7zq0=\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n";

static const char rsa_p8_v1_pem[] =
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIICojAcBgoqhkiG9w0BDAEDMA4ECJbQY8n1/K7vAgIIAASCAoDc5EqMHBxLnyr1\n"
	"dLMNpgLnXPJWYkiP0Yi6njRrDFZhDErwRnk+byQGGTeLlGfg3aO64pVUyp08It2f\n"
	"1yvVWJ9BubHgZ2/ZwV3PqyzskoyrPKTUXyy2p7j7DIuSCAyB4M5oUoAmCbX8Bhe6\n"
	"6nXJT1TUmJ0c20+0/VOD1Bl1+ijhKzS8qgX3/VYxZTkOpduIZ4UvldrURRAf8heZ\n"
	"3JMpGzpW26XlPBXznFGbunCjt/5eoHFhUXrQpuffxEmgTySfM2KRcsqR2I6C7dsM\n"
	"HPGY0e21monGes91ibUp7Oj/MNrD0RsxljZtZj9bcSO/mlfWwQO+9QLJPwzRofDX\n"
	"FuXjShalhcn+oKn+1uWqG2bCr/jLnksEuRZxgKQVZXsjdqBXbhsqZ/6cgd88QDKK\n"
	"7DSbvfs15AvIxeMQy7R8D/F19vsLMEid5OlQazg8zT7Ezg+XTOlF5tS1j6NkF9yV\n"
	"+AYzAKVfTmIu9HQE+wTN5sCcnj2DwIbkYeEQg7OP84vK0I2aMkKvj9L8iWc9Ys9b\n"
	"YRQGeNwCd7yivvsZCbXa3+TsLkdNfjVGy5VpvwGBLNd0PhzWv0MRhFOdrpSAef7P\n"
	"9nhvjItf1fAmw9dVjaBT3TU56ArwkNWuMqWcleDzI8mQqzOdJfR2L8v/FCp5KZac\n"
	"gbEdoydgmEQrZaMkjV+iupEiOw5sc4ObpnGAtof03arcxgFhhuk2Fk0e4cmNQbQx\n"
	"aPH7U5pG6LCy592iq14rsOCH8lDkQEIsLnK/AKCz/x9zgZaVtOWgFOoLGRjFlzmO\n"
	"tCLVPCfNn5kAvo2Tzk1uu4twbgALScXBMGzyWBvrEjEVEzsbJe/bExyGg/VE+vzV\n"
	"GaEVWAat\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n";

static const char ec_pem[] =
	"-----BEGIN EC PRIVATE KEY-----\n"
	"MIGkAgEBBDAj+lBrojZF3jTKKBMM/RZKHc1nk1UFOgW/oGRuBVxbbjHq8ZighdUS\n"
	"o6Ii+2ZLqvGgBwYFK4EEACKhZANiAAS4EI6IIw30im9RmPpEMTqjS3bi6lPOuYka\n"
	"P7PGPcmi1vyKVyX0o6zWfs43kfPcgVBVXM5BQpKGOdjTXQAau0JjxTvDP7YrFI3F\n"
	"YTvCg0XVSgxGKr3vbPOIuM879qhEz/A=\n"
	"-----END EC PRIVATE KEY-----\n";

static const char ec_p8_pem[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAj+lBrojZF3jTKKBMM\n"
	"/RZKHc1nk1UFOgW/oGRuBVxbbjHq8ZighdUSo6Ii+2ZLqvGhZANiAAS4EI6IIw30\n"
	"im9RmPpEMTqjS3bi6lPOuYkaP7PGPcmi1vyKVyX0o6zWfs43kfPcgVBVXM5BQpKG\n"
	"OdjTXQAau0JjxTvDP7YrFI3FYTvCg0XVSgxGKr3vbPOIuM879qhEz/A=\n"
	"-----END PRIVATE KEY-----\n";

static const char ed_pem[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEIIcaeslKbDaL1Sccy6qWAkupVaYbdybn56lg7cVd3Nj8\n"
	"-----END PRIVATE KEY-----\n";

static const char ed_p8_pem[] =
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiyGFsfNQBc0AICCAAw\n"
	"DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHzYvb2ipUyIuYtUbz+8FJYEQDfK\n"
	"cbhMG9BQy1cylQbWoh4LC9+UctPEEa2sVSw0ip0+9UrxYucSi7bTSEsFTJKWKlzD\n"
	"FotFtpdyvZtYJ1KFOa0=\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n";

static const char k1_pem[] =
	"-----BEGIN EC PRIVATE KEY-----\n"
	"MHQCAQEEIPRRaLJczknMqX29PAiYxueQ3TRui6EYqgCdtOUw1keNoAcGBSuBBAAK\n"
	"oUQDQgAE3Z4NZTh2oGPOc5iGe3hgN7XszUGzONOGcW51t5rmWMZrc7IHyfbccr8A\n"
	"lWtNRa4TIM6QZmtQTmx15aBoI3Ix1w==\n"
	"-----END EC PRIVATE KEY-----\n";

static const char x_pem[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VuBCIEINAh59h2Mc4oy5x7RB7Gp9LUhmoZ4/XL6xy8WAjNmMJP\n"
	"-----END PRIVATE KEY-----\n";
/* clang-format on */

enum kind { RSA, EC, ED, NONE };

struct pem_case {
	const char *name, *text, *passphrase;
	enum kind kind;
	err_t want;
};

/* clang-format off */
static const struct pem_case cases[] = {
	{"PKCS #1",                        rsa_pem,      "",      RSA,  OK},
	{"PKCS #1, passphrase not needed", rsa_pem,      "any",   RSA,  OK},
	{"PKCS #1 by 3DES",                rsa_des3_pem, "right", RSA,  OK},
	{"PKCS #1 by 3DES, wrong",         rsa_des3_pem, "wrong", NONE, E_PASSPHRASE},
	{"PKCS #1 by 3DES, none",          rsa_des3_pem, "",      NONE, E_PASSPHRASE},
	{"PKCS #1 by AES",                 rsa_aes_pem,  "right", RSA,  OK},
	{"PKCS #1 by AES, wrong",          rsa_aes_pem,  "righT", NONE, E_PASSPHRASE},
	{"PKCS #1 by AES-256",             rsa_aes256_pem, "right", RSA, OK},
	{"PKCS #1 by Camellia",            rsa_camellia_pem, "right", RSA, OK},
	{"PKCS #8 encrypted, 3DES",        rsa_p8_des3_pem, "right", RSA, OK},
	{"PKCS #8 encrypted, version 1",   rsa_p8_v1_pem, "right", RSA,  OK},
	{"PKCS #8 encrypted",              rsa_p8_pem,   "right", RSA,  OK},
	{"PKCS #8 encrypted, wrong",       rsa_p8_pem,   "wrong", NONE, E_PASSPHRASE},
	{"PKCS #8 encrypted, none",        rsa_p8_pem,   "",      NONE, E_PASSPHRASE},
	{"SEC 1",                          ec_pem,       "",      EC,   OK},
	{"PKCS #8 EC",                     ec_p8_pem,    "",      EC,   OK},
	{"PKCS #8 Ed25519",                ed_pem,       "",      ED,   OK},
	{"PKCS #8 Ed25519 encrypted",      ed_p8_pem,    "right", ED,   OK},
	{"PKCS #8 Ed25519 encrypted, wrong", ed_p8_pem,  "wrong", NONE, E_PASSPHRASE},
	{"another curve",                  k1_pem,       "",      NONE, E_KEY_TYPE},
	{"not for signatures",             x_pem,        "",      NONE, E_KEY_TYPE},
	{"nothing",                        "",           "",      NONE, E_KEY_FORMAT},
	{"no PEM",                         "hello\n",    "",      NONE, E_KEY_FORMAT},
};
/* clang-format on */

static void expect(
	const char *name, struct cslice text, const char *passphrase, enum kind kind, err_t want)
{
	struct pem_key k;
	memset(&k, 0xa5, sizeof(k));
	struct pem_key was = k;
	err_t e = pem_private_read(&k, text, cslice_str(passphrase));
	if (e != want)
		print_error("%s: %s\n", name, err_name(e));
	assert_int_equal(e, want);
	if (e != OK) {
		assert_memory_equal(&k, &was, sizeof(k));
		return;
	}
	assert_int_equal(k.is_rsa, kind == RSA);
	assert_int_equal(k.is_ed25519, kind == ED);
	assert_int_equal(k.k != NULL, kind != ED);
	pkey_free(k.k);
}

static void files_are_read_or_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(cases); i++)
		expect(cases[i].name, cslice_str(cases[i].text), cases[i].passphrase, cases[i].kind,
			cases[i].want);
}

static void read_keys_sign_and_have_their_numbers(void **state)
{
	(void)state;
	static const char modulus[] =
		"a0d27e7bb832f464346cd614715317a790d811d9b3482a6f1fc0a870052bb5d0"
		"9048698e1ce478680d1e94eb75e963e74069cccec0debdf80917fd9d31622391"
		"a2da43e52a95e9e5fc4e27c1e8a369d579e1fb4a9eb933a0c69902b924a924d1"
		"c626c7add463aef10acb2d403f2f6daa5cb38ba75f7524588126f16a54618ceb";
	struct pem_key k;
	struct buf numbers[6], sig;
	for (size_t i = 0; i < 6; i++)
		buf_init(&numbers[i], 512);
	buf_init(&sig, 512);
	assert_ok(pem_private_read(&k, cslice_str(rsa_des3_pem), cslice_str("right")));
	assert_ok(pkey_rsa_parts(k.k, numbers));
	assert_hex(numbers[0].p, modulus);
	assert_ok(pkey_rsa_sign(k.k, HASH_SHA256, cslice_str("m"), &sig));
	assert_ok(pkey_rsa_verify(k.k, HASH_SHA256, cslice_str("m"), buf_bytes(&sig)));
	pkey_free(k.k);
	assert_ok(pem_private_read(&k, cslice_str(ed_p8_pem), cslice_str("right")));
	assert_hex(k.seed, "871a7ac94a6c368bd5271ccbaa96024ba955a61b7726e7e7a960edc55ddcd8fc");
	buf_done(&sig);
	for (size_t i = 0; i < 6; i++)
		buf_done(&numbers[i]);
}

static void one_form_comes_back(const struct pkey *k, enum pem_form form, const char *passphrase)
{
	struct buf text;
	struct pem_key again = {0}, wrong = {0};
	buf_init(&text, 16384);
	assert_ok(pem_private_write(k, form, cslice_str(passphrase), &text));
	assert_ok(pem_private_read(&again, buf_bytes(&text), cslice_str(passphrase)));
	assert_int_equal(pkey_bits(again.k), pkey_bits(k));
	if (passphrase[0] != '\0') {
		assert_err(pem_private_read(&wrong, buf_bytes(&text), cslice_str("wrong")),
			E_PASSPHRASE);
		assert_err(
			pem_private_read(&wrong, buf_bytes(&text), cslice_str("")), E_PASSPHRASE);
	}
	struct pkey *pub = NULL;
	buf_clear(&text);
	assert_ok(pem_public_write(again.k, form, &text));
	assert_ok(pem_public_read(&pub, buf_bytes(&text)));
	if (pkey_is_rsa(k)) {
		struct buf sig;
		buf_init(&sig, 512);
		assert_ok(pkey_rsa_sign(again.k, HASH_SHA256, cslice_str("m"), &sig));
		assert_ok(pkey_rsa_verify(pub, HASH_SHA256, cslice_str("m"), buf_bytes(&sig)));
		buf_done(&sig);
	} else {
		uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
		size_t n = ec_field_size(EC_P256);
		assert_ok(pkey_ecdsa_sign(k, HASH_SHA256, cslice_str("m"), r, s));
		assert_ok(pkey_ecdsa_verify(
			pub, HASH_SHA256, cslice_str("m"), cslice_of(r, n), cslice_of(s, n)));
	}
	assert_err(pem_private_write(pub, form, cslice_str(""), &text), E_KEY_PUBLIC);
	pkey_free(pub);
	pkey_free(again.k);
	buf_done(&text);
}

static void what_is_written_is_read_back(void **state)
{
	(void)state;
	struct pkey *rsa = NULL, *ec = NULL;
	assert_ok(pkey_rsa_generate(&rsa, 1024));
	assert_ok(pkey_ec_generate(&ec, EC_P256));
	for (enum pem_form form = PEM_OLD; form <= PEM_PKCS8; form++) {
		one_form_comes_back(rsa, form, "");
		one_form_comes_back(rsa, form, "pass phrase");
		one_form_comes_back(ec, form, "");
		one_form_comes_back(ec, form, "pass phrase");
	}
	pkey_free(ec);
	pkey_free(rsa);
}

static void public_files_that_hold_no_such_key_are_refused(void **state)
{
	(void)state;
	/* RFC 8410 10.1 */
	static const char ed[] = "-----BEGIN PUBLIC KEY-----\n"
				 "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
				 "-----END PUBLIC KEY-----\n";
	static const char *const broken[] = {"", "words\n", "-----BEGIN PUBLIC KEY-----\n",
		"-----BEGIN RSA PUBLIC KEY-----\n",
		"-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"};
	struct pkey *k = NULL;
	assert_err(pem_public_read(&k, cslice_str(ed)), E_KEY_TYPE);
	for (size_t i = 0; i < ARRAY_N(broken); i++)
		assert_err(pem_public_read(&k, cslice_str(broken[i])), E_KEY_FORMAT);
	assert_err(pem_public_read(&k, cslice_str(rsa_pem)), E_KEY_FORMAT);
	assert_null(k);
}

static void text_around_and_crlf_do_not_matter(void **state)
{
	(void)state;
	static const char *const before[] = {"", "Subject: me\n\n",
		"-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n"};
	for (size_t i = 0; i < ARRAY_N(before); i++) {
		struct buf b;
		buf_init(&b, 4096);
		buf_printf(&b, "%s", before[i]);
		for (const char *c = ec_pem; *c != '\0'; c++) {
			if (*c == '\n')
				buf_put_u8(&b, '\r');
			buf_put_u8(&b, (uint8_t)*c);
		}
		buf_printf(&b, "trailing words\n");
		expect(before[i], buf_bytes(&b), "", EC, OK);
		buf_done(&b);
	}
}

/* Every shorter text is refused; never a key made of a part. */
static void truncated_files_are_refused(void **state)
{
	(void)state;
	size_t end = strlen(ec_pem) - strlen("-----END EC PRIVATE KEY-----\n");
	for (size_t n = 0; n <= end; n++) {
		struct pem_key k = {0};
		assert_int_equal(
			pem_private_read(&k, cslice_of(ec_pem, n), cslice_str("")), E_KEY_FORMAT);
	}
}

static void a_private_half_of_another_key_is_refused(void **state)
{
	(void)state;
	char text[sizeof(ec_pem)];
	memcpy(text, ec_pem, sizeof(text));
	char *at = strstr(text, "\n") + 1 + 30; /* inside the private number */
	*at = *at == 'A' ? 'B' : 'A';
	expect("changed", cslice_str(text), "", NONE, E_KEY_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_read_or_refused_with_the_reason),
		cmocka_unit_test(read_keys_sign_and_have_their_numbers),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(public_files_that_hold_no_such_key_are_refused),
		cmocka_unit_test(text_around_and_crlf_do_not_matter),
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(a_private_half_of_another_key_is_refused),
	};
	return cmocka_run_group_tests(tests, help_crypto_init, NULL);
}

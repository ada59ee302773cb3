/* SPDX-License-Identifier: ISC */
/* bcrypt - bcrypt_pbkdf against the regress values of OpenBSD and what Python's bcrypt module gives
 */
#include "crypto/crypto.h"
#include "vec.h"

/* clang-format off */
static const struct {
	const char *pass;
	size_t pass_n;
	const char *salt;
	size_t salt_n;
	uint32_t rounds;
	size_t key_n;
	const char *key;
} cases[] = {
	{"password", 8, "salt", 4, 4, 32,
		"5bbf0cc293587f1c3635555c27796598d47e579071bf427e9d8fbe842aba34d9"},
	{"password", 8, "\000", 1, 4, 16,
		"c12b566235eee04c212598970a579a67"},
	{"\000", 1, "salt", 4, 4, 16,
		"6051be18c2f4f82cbf0efee5471b4bb9"},
	{"password\000", 9, "salt\000", 5, 4, 16,
		"7410e44cf4fa07bfaac8a928b1727fac"},
	{"pass\000wor", 8, "sa\000l", 4, 4, 16,
		"c2bffd9db38f6569efef4372f4de83c0"},
	{"pass\000word", 9, "sa\000lt", 5, 4, 16,
		"4ba4ac3925c0e8d7f0cdb6bb1684a56f"},
	{"password", 8, "salt", 4, 8, 64,
		"e1367ec5151a33faac4cc1c144cd23fa15d5548493ecc99b9b5d9c0d3b27bec7"
		"6227ea66088b849b20ab7aa478010246e74bba51723fefa9f9474d6508845e8d"},
	{"password", 8, "salt", 4, 42, 16,
		"833cf0dcf56db65608e8f0dc0ce882bd"},
	{"p", 1, 
		"\000\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023"
		"\024\025\026\027\030\031\032\033\034\035\036\037 !\042#$%&'"
		"()*+,-./0123456789:;"
		"<=>?@ABCDEFGHIJKLMNO"
		"PQRSTUVWXYZ[\134]^_`abc"
		"defghijklmnopqrstuvw"
		"xyz{|}~\177\200\201\202\203\204\205\206\207\210\211\212\213"
		"\214\215\216\217\220\221\222\223\224\225\226\227\230\231\232\233\234\235\236\237"
		"\240\241\242\243\244\245\246\247\250\251\252\253\254\255\256\257\260\261\262\263"
		"\264\265\266\267\270\271\272\273\274\275\276\277\300\301\302\303\304\305\306\307"
		"\310\311\312\313\314\315\316\317\320\321\322\323\324\325\326\327\330\331\332\333"
		"\334\335\336\337\340\341\342\343\344\345\346\347\350\351\352\353\354\355\356\357"
		"\360\361\362\363\364\365\366\367\370\371\372\373\374\375\376\377", 256, 1, 1,
		"43"},
	{
		"long long long long long long long long long long long long long long long long "
		"long long long long long long long long long long long long long long long long "
		"long long long long long long long long ", 200, "salt", 4, 2, 33,
		"2e35abcc3e92ae4bc50222c5f59df7bc433245cc708081ba0c63b6b682a6862e"
		"3c"},
	{"x", 1, "y", 1, 3, 100,
		"902c53fda92464b284a3f8c5d2de0f48292d02936afc55666ec7fe2604045644"
		"02b4cb5dc2867a041c19a48885a7825e483c75b633943fe6cbae35b0e3f86d8d"
		"544073fbd742707624b2831590c2c4398c0c312cd20d123fbe9231187b579537"
		"6b0086e3"},
	{"\303\251t\303\251", 5, "0123456789abcdef", 16, 16, 48,
		"38a3150955c36811d9f789fa69568eda361712f13fd192ae65f26ed095bed2aa"
		"280727a4ee358ae6526933822da64a62"},
};
/* clang-format on */

static void refuses(struct cslice pass, struct cslice salt, uint32_t rounds, size_t key_n)
{
	uint8_t key[2048];

	memset(key, 0x5a, sizeof(key));
	err_t e = bcrypt_pbkdf(pass, salt, rounds, key, key_n);
	bool same = true;
	for (size_t i = 0; i < sizeof(key); i++)
		same = same && key[i] == 0x5a;
	vec_check(e == E_LIMIT && same, "refused", (int64_t)key_n);
}

int main(void)
{
	struct cslice pass = cslice_str("password"), salt = cslice_str("salt"), none = {NULL, 0};
	uint8_t key[1024];

	if (crypto_init() != OK)
		return 1;
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		err_t e = bcrypt_pbkdf(cslice_of(cases[i].pass, cases[i].pass_n),
			cslice_of(cases[i].salt, cases[i].salt_n), cases[i].rounds, key,
			cases[i].key_n);
		vec_check(e == OK && vec_eq_hex(key, cases[i].key_n, cases[i].key), "bcrypt",
			(int64_t)i);
	}
	refuses(none, salt, 4, 32);
	refuses(pass, none, 4, 32);
	refuses(pass, salt, 0, 32);
	refuses(pass, salt, 4, 0);
	refuses(pass, salt, 4, 1025);
	return vec_done();
}

/** Who somebody is: a user of a tenant, or a whole tenant. */
export function who({ tenant, user }: { tenant: string; user: string }): string {
  return user ? `${user} (${tenant})` : tenant;
}
